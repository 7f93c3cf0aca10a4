/**
 * The docs are true: what they name exists, and what they show runs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verbs } from "../../src/cli/verbs.ts";
import { errorCodes, exitStatus } from "../../src/contract/errors.ts";
import { runCli } from "../support/cli.ts";
import { TestHome } from "../support/home.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (name: string) => readFileSync(join(root, name), "utf8");
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTEXT.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

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
      for (const [, verb = ""] of read(page).matchAll(/^holdfast ([a-z]+)/gm))
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

  it("the README's first minute runs as it stands", async () => {
    using home = new TestHome();
    const minute = /```sh\nholdfast open[\s\S]+?```/.exec(read("README.md"))?.[0] ?? "";
    const lines = minute.split("\n").filter((line) => line.startsWith("holdfast"));
    expect(lines.length).toBeGreaterThan(5);
    let id = "";
    for (const line of lines) {
      const words =
        (line.split("  #")[0] as string)
          .trim()
          .match(/"[^"]*"|\S+/g)
          ?.map((word) => word.replaceAll('"', "")) ?? [];
      const args = words.slice(1).map((word) => (word === "01k" ? id : word));
      if (args[0] === "export") args.push("-o", home.join("out.holdfast"));
      const result = await runCli(home.dir, args);
      expect(result, line).toMatchObject({ status: 0, stderr: "" });
      if (args[0] === "open") id = result.stdout.trim();
    }
  });

  it("the README's program runs as it stands", () => {
    using home = new TestHome();
    const program = /```ts\n([\s\S]+?)```/.exec(read("README.md"))?.[1] ?? "";
    const file = home.join("program.ts");
    writeFileSync(file, program.replace('"holdfast"', JSON.stringify(join(root, "dist", "index.js"))));
    execFileSync(process.execPath, [file], { env: { ...process.env, HOLDFAST_HOME: home.dir } });
    expect(readdirSync(join(home.dir, "sessions"))).toHaveLength(1);
  });
});
