/**
 * The docs are true: what they name exists, and what they show runs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verbs } from "../../src/cli/verbs.ts";
import { errorCodes, exitStatus } from "../../src/contract/errors.ts";
import { type EventType, eventForms, eventSchema } from "../../src/contract/index.ts";
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
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

/** A shell in which `holdfast` is the built command; where there is no sandbox, `run` says so. */
function asUser(home: TestHome, cwd: string) {
  mkdirSync(home.join("bin"));
  const wall = hasSandbox ? "" : 'if [ "$1" = run ]; then shift; set -- run --no-sandbox "$@"; fi\n';
  const command = `#!/bin/sh\n${wall}exec '${process.execPath}' '${cliPath}' "$@"\n`;
  writeFileSync(home.join("bin/holdfast"), command, { mode: 0o755 });
  const PATH = `${home.join("bin")}:${process.env["PATH"]}`;
  return (script: string, more: NodeJS.ProcessEnv = {}) =>
    execFileSync("bash", ["-euo", "pipefail", "-c", script], {
      cwd,
      env: { ...process.env, HOLDFAST_HOME: home.dir, PATH, ...more },
      encoding: "utf8",
    });
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

  it("links lead somewhere, scripts exist, and nothing points outside the project", () => {
    const { scripts } = JSON.parse(read("package.json"));
    for (const page of pages) {
      for (const [, target = ""] of read(page).matchAll(/\]\(([^)#]+)\)/g)) {
        expect(existsSync(join(root, page, "..", target)), `${page} → ${target}`).toBe(true);
      }
      for (const [, script = ""] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect(scripts, page).toHaveProperty([script]);
      for (const [, verb = ""] of read(page).matchAll(/(?:^|\()holdfast ([a-z]+)/gm))
        expect(
          verbs.map(({ name }) => name),
          page,
        ).toContain(verb);
    }
  });

  it("every folder of src that ARCHITECTURE.md names is there, and none is missing from it", () => {
    const named = [...read("ARCHITECTURE.md").matchAll(/^ {2}(\w+)\/ {2,}/gm)].map(([, name]) => name);
    const there = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(named.sort()).toEqual(there.map(({ name }) => name).sort());
  });

  it("the README's first minute runs as it stands", () => {
    using home = new TestHome();
    const minute = /```sh\n(S=\$\(holdfast new[\s\S]+?)```/.exec(read("README.md"))?.[1] ?? "";
    expect(minute.match(/holdfast [a-z]+/g)?.length).toBeGreaterThan(5);
    const output = asUser(home, home.path)(minute);
    expect(output).toContain("imported, paused");
  });

  it("the README's task runs as it stands", () => {
    using home = new TaskHome();
    const [first = "", rest = ""] = [...read("README.md").matchAll(/```sh\n(holdfast [\s\S]+?)```/g)].map(
      ([, block]) => block ?? "",
    );
    expect(rest.match(/^holdfast [a-z]+/gm)?.length).toBeGreaterThan(5);
    const run = asUser(home, home.main);
    run(`(${first.trim()}) 2>&1`);
    // In a script nobody is asked, so what is unpublished is said to go.
    expect(run(`(${rest}) 2>&1`)).toContain("are back");
    expect(readFileSync(join(home.main, "login.ts"), "utf8")).toBe("fixed\n");
  });

  it("the README's many at once run as they stand", async () => {
    using home = new HostHome();
    const block = /```sh\n(S=\$\(holdfast run[\s\S]+?)```/.exec(read("README.md"))?.[1] ?? "";
    expect(block.match(/holdfast [a-z]+/g)?.length).toBeGreaterThan(5);
    const output = asUser(home, home.main)(`(${block}) 2>&1 < /dev/null`);
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

  it("protocol.md lists every route of the API, and no other", () => {
    const named = [...read("docs/protocol.md").matchAll(/^\| `(GET|POST) (\/v1\/sessions[^`]*)`/gm)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    const there = [...read("src/server/routes.ts").matchAll(/method: "(\w+)",\s+path: "([^"]+)"/g)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    expect(named).toEqual(there);
  });

  it("every numbered invariant of the source stands in the title of a test", () => {
    const files = (folder: string, suffix: string) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((name) =>
        name.endsWith(suffix),
      );
    const numbered = new Set<string>();
    for (const name of files("src", ".ts")) {
      const text = read(`src/${name}`);
      for (const [, id = ""] of text.matchAll(/^ \* (?:.* )?([A-Z]\d+) [A-Z]/gm)) numbered.add(id);
      // The letters are used up: newer ones are named after their subject.
      for (const [, id = ""] of text.matchAll(/^ \* ([a-z]+-\d+) [A-Z]/gm)) numbered.add(id);
    }
    const titles = files("test", ".test.ts")
      .flatMap((name) => [...read(`test/${name}`).matchAll(/\bit\(\s*["'`](.*)/g)].map(([, title]) => title))
      .join("\n");
    // The rules for changing the events are for people.
    const missing = [...numbered].filter(
      (id) => !id.startsWith("E") && !new RegExp(`\\b${id}\\b`).test(titles),
    );
    expect(numbered.size).toBeGreaterThan(20);
    expect(missing.sort()).toEqual([]);
  });

  it("the README's programs run as they stand", () => {
    const programs = [...read("README.md").matchAll(/```ts\n([\s\S]+?)```/g)].map(([, text = ""]) => text);
    expect(programs).toHaveLength(2);
    if (!hasSandbox) console.log("left out: the README's second program: it takes a sandbox");
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
