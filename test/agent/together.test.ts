/**
 * Agents of two kinds that work in one repo at once, each with its own files, HOME and conversation.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { orphansIn, type Script } from "../../src/testing/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

if (!hasSandbox) console.log("left out: agents together: without a sandbox HOME would be the user's own");

const WORKERS = { one: "claude", two: "opencode", three: "claude", four: "opencode", five: "claude" };
const names = Object.keys(WORKERS);
const markOf = (name: string) => `MARK-OF-${name.toUpperCase()}`;
const marksIn = (text: string) => names.filter((name) => text.includes(markOf(name)));

/** Each waits for a file before it goes on, so that all of them are at work at once. */
const scriptOf = (name: string): Script => [
  {
    call: {
      bash: {
        command: `echo ${markOf(name)} | tee ~/state ${name}.txt; until [ -e ~/go ]; do sleep 0.05; done; cat ~/state *.txt`,
      },
    },
  },
  { say: `Done by ${markOf(name)}.` },
];

/** The marks in the files below a directory. */
function marksBelow(dir: string): string[] {
  const texts = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  return marksIn(texts.join("\n"));
}

describe.skipIf(!hasSandbox)("five agents of two kinds in one repo at once", () => {
  it("have separate files and conversations, and their branches merge with plain git", async () => {
    await using home = await AgentHome.start(Object.fromEntries(names.map((name) => [name, scriptOf(name)])));
    const workers = Object.entries(WORKERS);
    await Promise.all(
      workers.map(([name, agent]) => home.run(name, `[[${name}]]`, "--agent", agent, "--detach")),
    );
    const own = (name: string, file: string) => home.sessionDir(home.idOf(name), "home", file);
    await until(() => names.every((name) => existsSync(own(name, "state"))));
    for (const name of names) writeFileSync(own(name, "go"), "");
    await Promise.all(names.map((name) => home.holdfast("wait", name)));

    for (const [name, agent] of workers) {
      const records = await home.records(name);
      expect(records.find(({ type }) => type === "task_ended")?.data["outcome"], name).toBe("unverified");
      expect(records.find(({ type }) => type === "conversation_begun")?.data["agent"]).toBe(agent);
      expect(records.filter(({ type }) => type === "tool_called")).toHaveLength(1);
      // Its own mark is there, which is the control, and no other mark.
      expect(marksBelow(home.sessionDir(home.idOf(name))), name).toEqual([name]);
      const asked = home.model.requests.filter(({ step }) => step?.script === name);
      expect(asked.flatMap(({ body }) => marksIn(body))).toEqual([name]);
    }
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
    for (const name of names) gitIn(home.main, "merge", "--quiet", "--no-edit", `holdfast/${name}`);
    for (const name of names)
      expect(readFileSync(join(home.main, `${name}.txt`), "utf8")).toBe(`${markOf(name)}\n`);
  });
});
