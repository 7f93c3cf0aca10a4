/**
 * The docs are true: what they name exists, and what they show runs.
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { verbs } from "../../src/cli/verbs.ts";
import { errorCodes, exitStatus } from "../../src/contract/errors.ts";
import { type EventType, eventForms, eventSchema } from "../../src/contract/index.ts";
import { describeApi } from "../../src/server/describe.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { TempDir, TestHome } from "../support/home.ts";
import { HostHome } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (name: string) => readFileSync(join(root, name), "utf8");
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTEXT.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

/** A shell in which `holdfast` is the built command; if there is no sandbox, `run` gets --no-sandbox. */
function asUser(home: TestHome, cwd: string) {
  mkdirSync(home.join("bin"), { recursive: true });
  const wall = hasSandbox ? "" : 'if [ "$1" = run ]; then shift; set -- run --no-sandbox "$@"; fi\n';
  const command = `#!/bin/sh\n${wall}exec '${process.execPath}' '${cliPath}' "$@"\n`;
  writeFileSync(home.join("bin/holdfast"), command, { mode: 0o755 });
  const PATH = `${home.join("bin")}:${process.env["PATH"]}`;
  // Not synchronously: a test's scripted model answers in this process.
  return async (script: string, more: NodeJS.ProcessEnv = {}) => {
    const env = { ...process.env, HOLDFAST_HOME: home.dir, PATH, ...more };
    return (await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], { cwd, env })).stdout;
  };
}

describe("the docs", () => {
  it("errors.md lists every code with its status and way out, and no other", () => {
    const rows = [...read("docs/errors.md").matchAll(/^\| `(\w+)` \| (\d+) \| .+ \| (.+) \|$/gm)].map(
      ([, code, status, wayOut]) => [code, Number(status), wayOut],
    );
    expect(rows).toEqual(
      Object.entries(errorCodes).map(([code, [status, wayOut]]) => [code, status, wayOut]),
    );
    for (const status of Object.values(exitStatus))
      expect(read("docs/errors.md")).toMatch(new RegExp(`^\\| ${status} \\|`, "m"));
  });

  it("every link, file, npm script and verb that a page names exists", () => {
    const { scripts } = JSON.parse(read("package.json"));
    for (const page of pages) {
      for (const [, target = "", heading] of read(page).matchAll(/\]\((?!https:)([^)#]*)(?:#([^)]+))?\)/g)) {
        const path = target === "" ? page : join(page, "..", target);
        expect(existsSync(join(root, path)), `${page} → ${target}`).toBe(true);
        if (heading) expect(headingsOf(read(path)), `${page} → ${target}`).toContain(heading);
      }
      for (const [, path = ""] of read(page).matchAll(/`((?:test|src|bench)\/[\w./-]+\.ts)`/g))
        expect(existsSync(join(root, path)), `${page} → ${path}`).toBe(true);
      for (const [, script = ""] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect(scripts, page).toHaveProperty([script]);
      for (const [, verb = ""] of read(page).matchAll(/(?:^|\()holdfast ([a-z]+)/gm))
        expect(
          verbs.map(({ name }) => name),
          page,
        ).toContain(verb);
    }
  });

  it("every edge of the README's chart joins two declared nodes", () => {
    const [, chart = ""] = /```mermaid\nflowchart LR\n([\s\S]+?)```/.exec(read("README.md")) ?? [];
    const lines = chart.split("\n").filter((line) => line.trim());
    const node = /^ *(\w+)(?:\["[^"[\]]+"\]|\[\("[^"[\]]+"\)\])$/;
    const edge = /^ *(\w+) -->(?:\|"[^"|]+"\|)? (\w+)$/;
    const nodes = lines.flatMap((line) => node.exec(line)?.[1] ?? []);
    const ends = lines.flatMap((line) => edge.exec(line)?.slice(1) ?? []);
    const groups = lines.filter((line) => /^ *subgraph \w+\["[^"]+"\]$/.test(line));
    expect(groups).toHaveLength(lines.filter((line) => line.trim() === "end").length);
    expect(nodes.length + ends.length / 2 + groups.length * 2).toBe(lines.length);
    expect([...new Set(ends)].sort()).toEqual([...nodes].sort());
    // Words of the language itself can't name a node.
    expect(nodes.filter((name) => /^(end|graph|style|class|click|default|direction)$/.test(name))).toEqual(
      [],
    );
  });

  it("ARCHITECTURE.md names every folder of src, and no other", () => {
    const named = [...read("ARCHITECTURE.md").matchAll(/^ {2}(\w+)\/ {2,}/gm)].map(([, name]) => name);
    const there = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(named.sort()).toEqual(there.map(({ name }) => name).sort());
  });

  it("CONTRIBUTING.md says what each suite guards, and names no other", () => {
    const rows = read("CONTRIBUTING.md")
      .split("\n")
      .filter((line) => line.startsWith("| `test/"));
    const named = rows.flatMap((row) => [...row.matchAll(/`test\/(\w+)`/g)].map(([, name]) => name));
    const suites = readdirSync(join(root, "test"), { withFileTypes: true })
      .filter((one) => one.isDirectory() && !["support", "fixtures"].includes(one.name))
      .map(({ name }) => name);
    expect([...named].sort()).toEqual(suites.sort());
  });

  it("the README's commands run an agent on a prompt and merge its change", async () => {
    const commands = blockOf("README.md", /holdfast agents[\s\S]+?/);
    expect(commands.match(/^holdfast [a-z]+/gm)).toHaveLength(5);
    const script = [{ say: "I write it.", call: { write: { path: "login.ts", content: "fixed\n" } } }];
    await using home = await AgentHome.start({ login: script });
    gitIn(home.main, "commit", "--allow-empty", "-qm", "before");
    const output = await asUser(home, home.main)(
      `(${commands.replace('run "', 'run "[[login]] ')}) 2>&1 < /dev/null`,
      home.env,
    );
    expect(output).toMatch(/claude +\/[\s\S]+\[persist\][\s\S]+\+fixed[\s\S]+with 1 commit from/);
    expect(readFileSync(join(home.main, "login.ts"), "utf8")).toBe("fixed\n");
  });

  it("the README's commands run two agents at once and merge the work of one", async () => {
    const commands = blockOf("README.md", /holdfast run --detach[\s\S]+?/);
    expect(commands.match(/^holdfast [a-z]+/gm)).toHaveLength(6);
    const script = [{ say: "I write it.", call: { write: { path: "login.ts", content: "fixed\n" } } }];
    await using home = await AgentHome.start({ login: script });
    gitIn(home.main, "commit", "--allow-empty", "-qm", "before");
    const output = await asUser(home, home.main)(
      `(${commands.replaceAll(/(run --detach .*) "/g, '$1 "[[login]] ')} holdfast wait add-tests) 2>&1 < /dev/null`,
      home.env,
    );
    expect(output).toMatch(
      /fix-login +(?:working|done|queued)[\s\S]+\+fixed[\s\S]+with 1 commit from fix-login/,
    );
    expect(readFileSync(join(home.main, "login.ts"), "utf8")).toBe("fixed\n");
  });

  it("the commands of the guide's section on the record run as they stand", async () => {
    using home = new TestHome();
    const record = blockOf("docs/guide.md", /S=\$\(holdfast new[\s\S]+?/);
    expect(record.match(/holdfast [a-z]+/g)?.length).toBeGreaterThan(5);
    const output = await asUser(home, home.path)(record);
    expect(output).toContain("imported, paused");
  });

  it("the commands of the guide's section on a task run as they stand", async () => {
    using home = new TaskHome();
    const [first = "", rest = ""] = [...read("docs/guide.md").matchAll(/```sh\n(holdfast [\s\S]+?)```/g)].map(
      ([, block]) => block ?? "",
    );
    expect(rest.match(/^holdfast [a-z]+/gm)?.length).toBeGreaterThan(5);
    const run = asUser(home, home.main);
    await run(`(${first.trim()}) 2>&1`);
    // There is no terminal, so a verb that would ask a person is refused instead.
    expect(await run(`(${rest}) 2>&1`)).toContain("restored the files");
    expect(readFileSync(join(home.main, "login.ts"), "utf8")).toBe("fixed\n");
  });

  it("the commands of the guide's section on many at once run as they stand", async () => {
    using home = new HostHome();
    const block = blockOf("docs/guide.md", /S=\$\(holdfast run[\s\S]+?/);
    expect(block.match(/holdfast [a-z]+/g)?.length).toBeGreaterThan(5);
    const output = await asUser(home, home.main)(`(${block}) 2>&1 < /dev/null`);
    expect(output).toMatch(
      /working[\s\S]+msg_\w+[\s\S]+\[persist\][\s\S]+unverified, exit 0[\s\S]+task=2[\s\S]+next[\s\S]+paused/,
    );
  });

  it("events.md describes every event with its fields, and no other", () => {
    const rows = [...read("docs/events.md").matchAll(/^\| `(\w+)` \|(.*?)\| (.+) \|$/gm)];
    const named = rows.map(([, type, fields = ""]) => [
      type,
      [...fields.matchAll(/`(\w+\??)`/g)].map(([, field]) => field),
    ]);
    const there = Object.keys(eventForms).map((type) => [type, fieldsOf(eventSchema(type as EventType))]);
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(there));
    expect(rows.every(([, , , effect = ""]) => effect.trim() !== "")).toBe(true);
  });

  it("openapi.json matches the routes, and protocol.md lists every route with what it takes, and no other", async () => {
    using home = new TempDir();
    const described = await describeApi({ home: home.path });
    // node scripts/openapi.ts writes it.
    expect(JSON.parse(read("docs/openapi.json"))).toEqual(JSON.parse(JSON.stringify(described)));
    const api = read("docs/protocol.md").split("## The API")[1] ?? "";
    const rows = [...api.matchAll(/^\| `(?:GET|POST) \/v1\/.*$/gm)].map(([row]) => row);
    expect(rows).toEqual(rowsOf(described as Described));
  });

  it("the programs in the README and the guide run as they stand", () => {
    const programs = ["README.md", "docs/guide.md"].flatMap((page) =>
      [...read(page).matchAll(/```ts\n([\s\S]+?)```/g)].map(([, text = ""]) => text),
    );
    expect(programs).toHaveLength(2);
    if (!hasSandbox) console.log("left out: the guide's program: it needs a sandbox");
    for (const program of programs.slice(0, hasSandbox ? 2 : 1)) {
      using home = new TaskHome();
      const file = home.join("program.ts");
      writeFileSync(file, program.replace('"holdfast"', JSON.stringify(join(root, "dist", "index.js"))));
      const env = { ...process.env, HOLDFAST_HOME: home.dir };
      execFileSync(process.execPath, [file], { cwd: home.main, env });
      const [id = ""] = readdirSync(join(home.dir, "sessions"));
      if (program.includes("startTask"))
        expect(gitIn(home.main, "show", `${home.branchOf(id)}:login.ts`)).toBe("fixed");
    }
  });
});

describe("docs/testing.md", () => {
  it("its program runs as it stands", () => {
    using dir = new TempDir();
    const program = /```ts\n([\s\S]+?)```/.exec(read("docs/testing.md"))?.[1] ?? "";
    const built = JSON.stringify(join(root, "dist", "testing", "index.js"));
    writeFileSync(dir.join("program.ts"), program.replace('"holdfast/testing"', built));
    execFileSync(process.execPath, [dir.join("program.ts")], { cwd: dir.path, stdio: "pipe" });
    expect(readFileSync(dir.join("login.ts"), "utf8")).toBe("fixed\n");
  });
});

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Body }>> };
}

interface Body {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** The rows of the routes in docs/protocol.md: each with all that can be asked, in the URL or in the body. */
function rowsOf({ paths }: Described): string[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, parameters = [], requestBody }]) => {
      const { properties = {}, required = [] } = requestBody?.content["application/json"]?.schema ?? {};
      const fields = Object.keys(properties).map((name) => `"${name}"${required.includes(name) ? "" : "?"}`);
      const query = parameters.filter((one) => one.in === "query").map(({ name }) => `\`?${name}=\``);
      const asked = fields.length > 0 ? [`\`{${fields.join(", ")}}\``] : query;
      const words = asked.length > 0 ? ` with ${asked.join(", ")}` : "";
      return `| \`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}\`${words} | ${summary} |`;
    }),
  );
}

/** The one block of shell commands of a page that begins so. */
function blockOf(page: string, beginning: RegExp): string {
  return new RegExp(`\`\`\`sh\\n(${beginning.source})\`\`\``).exec(read(page))?.[1] ?? "";
}

/** The headings of a page, as a link names them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** The fields of an event, those that may be missing with a question mark. */
function fieldsOf(schema: unknown): string[] {
  type Form = {
    readonly _zod: { readonly def: { readonly type: string; readonly shape?: Record<string, Form> } };
  };
  const { shape = {} } = (schema as Form)._zod.def;
  return Object.entries(shape).map(([name, field]) =>
    field._zod.def.type === "optional" ? `${name}?` : name,
  );
}
