// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how arguments and variables are named.
/**
 * Tools that a repo's file declares: what they see, what they are given, and how their words are filled in.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wasSpent } from "../../src/approval/index.ts";
import { actingDir } from "../../src/util/index.ts";
import { wordsFor } from "../../src/worker/words.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { until } from "../support/hosts.ts";
import { turn } from "../support/tasks.ts";

const TOKEN = "planted-token-4711-of-the-user";
const SCRIPT = [
  "ls -a",
  "git log --format=%s",
  "git status --short",
  "cat a.txt",
  'echo "1=$1 2=$2 3=$#"',
  "cat",
  "echo $TOOL_KEY | cut -c1-7",
  "echo $TOOL_KEY",
  "printenv GIT_TOKEN HOLDFAST_DOOR",
  "true",
].join("; ");

const CONFIG = `tools:
  ship:
    run: [sh, -c, ${JSON.stringify(SCRIPT)}, x, "\${text}", "\${more}", "--n=\${count}"]
    env: [TOOL_KEY]
    input:
      type: object
      properties: { text: { type: string }, more: { type: string }, count: { type: integer } }
      required: [text]
      additionalProperties: false
`;

describe("a declared tool", () => {
  it("worker-7 sees exactly the approved tree, as a commit on the base, and its arguments unchanged", async () => {
    await using home = new ActingHome({ "a.txt": "one\n", ".gitignore": "*.log\n" });
    const path = besideHome(home, "token");
    writeFileSync(path, `${TOKEN}\n`, { mode: 0o600 });
    await home.begin(CONFIG, "echo two > a.txt; echo evil > evil.log; git config alias.status '!echo evil'");
    writeFileSync(`${home.dir}/settings.yaml`, `variables: { TOOL_KEY: { file: ${path} } }\n`, {
      mode: 0o600,
    });
    const args = { text: "a 'b' $(touch /tmp/x); \"c\"", count: 3 };
    const { prepared, action } = await home.prepare("ship", args);
    const grant = await home.grant(action);
    await turn(home.task, "echo three > a.txt; echo new > later.txt");
    const { outcome, text } = await prepared.act(grant, quiet());
    expect(text.split("\n")).toEqual([
      ...[".", "..", ".git", ".gitignore", "a.txt", "holdfast.yaml"],
      `Work of ${home.session.id}, as it is acted on`,
      ...["tools", "the first"],
      "two",
      `1=${args.text} 2=--n=3 3=2`,
      `${JSON.stringify(args)}planted`,
      "[redacted:env:TOOL_KEY]",
    ]);
    expect(outcome).toBe("ok");
    expect(home.filesWith(TOKEN)).toEqual([]);
    // The agent's own capsule still has the later changes.
    expect(await turn(home.task, "cat a.txt later.txt")).toBe("three\nnew");
  });

  it("is refused before a person is asked if its arguments don't fit its input schema", async () => {
    await using home = new ActingHome();
    await home.begin(CONFIG);
    for (const args of [
      {},
      { text: 1 },
      { text: "a", other: 1 },
      { text: "a", count: 1.5 },
      { text: "a\0b" },
    ])
      await expect(home.prepare("ship", args), JSON.stringify(args)).rejects.toMatchObject({
        code: "arguments_invalid",
      });
  });

  it("is shown with its words quoted, so that an argument with spaces does not read as several", async () => {
    await using home = new ActingHome();
    await home.begin(
      "tools: { ship: { run: [sh, -c, exit, '${text}'], input: { type: object, properties: { text: { type: string } } } } }\n",
    );
    const { prepared } = await home.prepare("ship", { text: "it's a --force" });
    expect(prepared.facts).toContainEqual(["runs", "sh -c exit 'it'\\''s a --force'"]);
  });

  it("is ended at its time limit, and reports how it failed", async () => {
    await using home = new ActingHome();
    await home.begin(
      "tools: { slow: { run: [sleep, '600'], timeout_minutes: 0.03 }, bad: { run: [sh, -c, 'echo no; exit 3'] }, killed: { run: [sh, -c, 'kill -9 $$'] } }\n",
    );
    expect(await home.call("slow", {})).toMatchObject({
      outcome: "error",
      text: expect.stringContaining("longer than"),
      facts: { isUnknown: true },
    });
    expect(await home.call("bad", {})).toEqual({ outcome: "error", text: "no", facts: { exit_code: 3 } });
    expect(await home.call("killed", {})).toMatchObject({
      outcome: "error",
      text: "holdfast: it was ended by signal 9",
      facts: { isUnknown: true },
    });
  });

  it("is stopped when its call is cancelled, and reports that", async () => {
    await using home = new ActingHome();
    await home.begin("tools: { slow: { run: [sh, -c, 'echo begun; sleep 600'] } }\n");
    const { prepared, action } = await home.prepare("slow", {});
    const stop = new AbortController();
    const grant = await home.grant(action);
    const acting = prepared.act(grant, quiet(stop.signal));
    while (!wasSpent(home.dir, grant.approval)) await new Promise((resolve) => setTimeout(resolve, 20));
    stop.abort();
    expect(await acting).toMatchObject({
      outcome: "error",
      text: expect.stringContaining("stopped"),
      facts: { isUnknown: true },
    });
  });

  it("keeps its files while it runs, although another action of the task is tried", async () => {
    await using home = new ActingHome();
    const waits = "touch $HOME/begun; while [ ! -e $HOME/go ]; do sleep 0.05; done; cat a.txt";
    await home.begin(`tools: { slow: { run: [sh, -c, "${waits}"] }, quick: { run: ["true"] } }\n`);
    const ofTool = (name: string) => join(actingDir(home.task.room.sessionDir, 1), "home", name);
    const running = home.call("slow", {});
    await until(() => existsSync(ofTool("begun")));
    await expect(home.call("quick", {})).rejects.toMatchObject({ code: "tool_failed" });
    writeFileSync(ofTool("go"), "");
    expect(await running).toMatchObject({ outcome: "ok", text: "two" });
    expect(existsSync(ofTool("begun"))).toBe(false);
    expect(await home.call("quick", {})).toMatchObject({ outcome: "ok" });
  });

  it("leaves out the word of an argument that was not given, and inserts other arguments as text", () => {
    const input = { type: "object", properties: { a: {}, b: {} } };
    const words = ["x", "${a}", "${b}", "-${b}-", "${c}", "${a}${a}"];
    expect(wordsFor(words, { a: "${b}" }, input)).toEqual(["x", "${b}", "--", "${c}", "${b}${b}"]);
    expect(wordsFor(["${a}", "${b}"], { a: { k: [1] }, b: false }, input)).toEqual(['{"k":[1]}', "false"]);
    expect(wordsFor(["${a}"], { a: "" }, input)).toEqual([""]);
  });
});
