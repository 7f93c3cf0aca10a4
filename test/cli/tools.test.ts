/**
 * `tools`: which tools an agent has; and how hostile names and texts of tools look on the screens that show
 * them.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { toolsPath } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const files = {
  "a.txt": "one\n",
  "holdfast.yaml": "lanes: { pushing: { write: [write_file], external: [git_push] } }\n",
};

async function ran(home: HostHome, steps: string): Promise<string> {
  await home.open();
  const file = home.join("steps.yaml");
  writeFileSync(file, `steps:\n${steps}`);
  const words = ["run", "--repo", home.main, "--name", "shown", "--lane", "pushing", ...wall];
  const { status, stderr } = await home.cli(...words, "--script", file);
  expect(status, stderr).toBe(0);
  const [id = ""] = (await home.dispatcher()).sessionIds();
  return id;
}

describe("holdfast tools", () => {
  it("lists the tools of the lane with their class, whether they ask, and what each costs in tokens", async () => {
    using home = new HostHome(files);
    const id = await ran(home, "  - { tool: read_file, with: { path: a.txt } }\n");
    const shown = JSON.parse((await home.cli("tools", "shown", "--json")).stdout);
    expect(shown).toMatchObject({ session: id, lane: "pushing", isKept: true });
    const byName = new Map(shown.tools.map((tool: { name: string }) => [tool.name, tool]));
    expect(byName.get("read_file")).toMatchObject({ class: "read", asks: false });
    expect(byName.get("write_file")).toMatchObject({ class: "write", asks: false });
    expect(byName.get("git_push")).toMatchObject({ class: "external", asks: true });
    for (const outside of ["run_command", "edit_file", "http_request"])
      expect(byName.has(outside)).toBe(false);
    const { tools } = JSON.parse(readFileSync(toolsPath(home.sessionDir(id)), "utf8"));
    const sum = shown.tools.reduce((all: number, { tokens }: { tokens: number }) => all + tokens, 0);
    expect(shown.tools.every(({ tokens }: { tokens: number }) => tokens > 10)).toBe(true);
    const { stdout, stderr } = await home.cli("tools", "shown");
    expect(stderr).toContain(`${sum} tokens in all`);
    expect(stdout.trimEnd().split("\n")).toHaveLength(tools.length + 1);
  });

  it("printable-1 hostile tool names, arguments, outputs and descriptions reach no screen unescaped", async () => {
    using home = new HostHome(files);
    const evil = "\\e[2J\\u009b2J\\u202e\\u2028\\r\\nappr_1  approval\\u200b";
    const id = await ran(
      home,
      [
        `  - { tool: "${evil}", with: { "${evil}": "${evil}" }, on_failure: continue }`,
        `  - { tool: write_file, with: { path: e.txt, content: "${evil}" } }`,
        "  - { tool: read_file, with: { path: e.txt } }",
        `  - { say: "${evil}" }`,
        "",
      ].join("\n"),
    );
    const path = toolsPath(home.sessionDir(id));
    const name = "evil__\u001b[2J\n\u202e";
    const tool = { name, class: "read", description: "\u009b2J\u2066\u0007 it", tokens: 1 };
    writeFileSync(path, JSON.stringify({ tools: [tool] }));
    for (const words of [["tools"], ["show"], ["log"], ["log", "--json"], ["tools", "--json"]]) {
      const [verb = "", ...options] = words;
      const { status, stdout, stderr } = await home.cli(verb, "shown", ...options);
      expect(status, stderr).toBe(0);
      const text = stdout + stderr;
      expect(text.replace(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(text).not.toMatch(/^appr_1/m);
    }
    expect((await home.cli("tools", "shown")).stdout).toContain("evil__\\u{1b}[2J\\n\\u{202e}");
  });
});
