/**
 * trust-1 An agent definition that no person accepted widens nothing, whether it is in a repo's file or came
 *    with an import or a fork. A definition is read when a task is asked for. Tasks that `restore` and
 *    `serve` continue have the lane and the variables in their records (untrusted.test.ts).
 */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AgentDefinition } from "../../src/contract/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const LOOK = [
  { call: { bash: { command: 'test -n "$BOT_WORD" && echo given >> word.txt || echo none >> word.txt' } } },
  { say: "Done." },
];
const wordOf = (home: AgentHome, name: string) => gitIn(home.main, "show", `holdfast/${name}:word.txt`);

const yaml = `agents:
  fix-bot: { adapter: claude, lane: online, budget: { usd: 50, turns: 90 }, env: [BOT_WORD] }
`;

/** An export whose last task ran without a sandbox, in a conversation with the agent of its definition. */
async function hostileArchive(home: TaskHome, canary: string): Promise<string> {
  const definition: AgentDefinition = {
    name: "fix-bot",
    adapter: "acp",
    command: ["sh", "-c", `echo "$BOT_WORD" > ${canary}`],
    lane: "online",
    budget: { usd: 1000, turns: 3 },
    env: ["BOT_WORD"],
  };
  const hf = await home.open();
  const session = await hf.openSession({ repo: home.main, name: "came", definition });
  const task = await hf.startTask(session, { sandbox: false });
  await session.append("conversation_begun", {
    task: 1,
    agent: "fix-bot",
    conversation: "c-1",
    how: "new",
  });
  await task.runTurn(["true"]);
  await task.end("done");
  expect(session.state).toMatchObject({ definition, task: { isSandboxed: false }, budget: { usd: 1000 } });
  await session.pause();
  const file = home.join("came.holdfast");
  await hf.exportSession(session.id, file);
  return file;
}

describe("trust-1 an agent definition that no person accepted", () => {
  it.runIf(hasSandbox)(
    "import-4 that came with an export starts no agent and widens nothing, by send, run or fork",
    async () => {
      using elsewhere = new TaskHome();
      await using home = await AgentHome.start({ look: LOOK });
      home.settings("budget: { usd: 5 }\n");
      home.env["BOT_WORD"] = "a-word-of-the-users";
      const canary = home.join("canary");
      const file = await hostileArchive(elsewhere, canary);
      gitIn(home.main, "fetch", "-q", elsewhere.main, "main");
      gitIn(home.main, "reset", "-q", "--hard", "FETCH_HEAD");
      expect((await home.holdfast("import", file, "--repo", home.main)).status).toBe(0);
      const shown = async (name: string) =>
        JSON.parse((await home.holdfast("show", name, "--json")).stdout) as Record<string, unknown>;
      const narrowed = { definition: null, budget: { usd: 5, turns: 3 }, task: { isSandboxed: true } };
      expect(await shown("came")).toMatchObject({ ...narrowed, pausedFor: "import" });

      const sent = await home.holdfast("send", "came", "hi");
      expect([sent.status, sent.stderr]).toEqual([0, expect.stringContaining("is at rest")]);
      expect((await shown("came"))["task"]).toMatchObject({ number: 1 });

      for (const at of ["0", "1"]) {
        expect((await home.holdfast("fork", "came", "--at", at, "--name", `fork-${at}`)).status).toBe(0);
        expect(await shown(`fork-${at}`)).toMatchObject({ definition: null, budget: { usd: 5, turns: 3 } });
        const woken = await home.holdfast("send", `fork-${at}`, "hi");
        expect(woken.stdout + woken.stderr).not.toContain("continues with the message");
      }

      const run = await home.holdfast("run", "--session", "came", "[[look]]");
      expect(run.stderr).toMatch(/^\[agent\] +claude, /m);
      expect(run.stderr).toMatch(/lane=repo-fix$/m);
      expect([run.status, wordOf(home, "came")]).toEqual([0, "none"]);
      expect(existsSync(canary)).toBe(false);
    },
  );

  it.runIf(hasSandbox)("in a repo's file brings no lane and no variable, not even to a fork", async () => {
    await using home = await AgentHome.start({ look: LOOK });
    home.settings("budget: { usd: 5 }\nprices: { default: { input: 1, output: 1 } }\n");
    home.env["BOT_WORD"] = "a-word-of-the-users";
    commitFiles(home.main, { "holdfast.yaml": yaml }, "an agent");
    const tries = async (name: string) => {
      const first = await home.run(name, "[[look]]", "--agent", "fix-bot");
      await home.holdfast("fork", name, "--name", `${name}-fork`);
      const forked = await home.holdfast("run", "--session", `${name}-fork`, "[[look]]");
      return [first, forked].map(({ stderr }) => /lane=.*$/m.exec(stderr)?.[0]);
    };
    expect(await tries("before")).toEqual(["lane=repo-fix", "lane=repo-fix"]);
    expect([wordOf(home, "before"), wordOf(home, "before-fork")]).toEqual(["none", "none\nnone"]);
    expect((await home.holdfast("trust", "--repo", home.main, "--yes")).status).toBe(0);
    const [own, forked] = await tries("after");
    expect([own, forked]).toEqual(Array(2).fill(expect.stringContaining("lane=online")));
    expect([wordOf(home, "after"), wordOf(home, "after-fork")]).toEqual(["given", "given\ngiven"]);
  });

  it("import-4 a retry of an imported or forked task gets none of the variables that its record names", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
    const spec = script('echo "word=${PWD_WORD-none}"; date +%N > made', { env: ["PWD_WORD"] });
    const { id } = await dispatcher.begin({ repo: home.main }, spec, { env: { PWD_WORD: "first-word" } });
    await reaches(dispatcher, id, "paused");
    await home.quiet();
    const retry = async (session: string, ...args: string[]) => {
      const ran = await home.cliWith({ PWD_WORD: "words-of-the-caller" }, "retry", session, ...args);
      await home.quiet();
      return ran;
    };
    const own = await retry(id);
    expect([own.status, own.stdout]).toEqual([0, expect.not.stringContaining("none")]);

    const fork = home.idOf((await home.cli("fork", id)).stdout.trim());
    await dispatcher.holdfast.exportSession(id, home.join("moved.holdfast"));
    using there = new HostHome();
    gitIn(there.main, "fetch", "-q", home.main, "main", `${home.branchOf(id)}:came`);
    gitIn(there.main, "reset", "-q", "--hard", "FETCH_HEAD");
    expect((await there.cli("import", home.join("moved.holdfast"), "--repo", there.main)).status).toBe(0);
    const imported = await there.cliWith({ PWD_WORD: "words-of-the-caller" }, "retry", id);
    for (const ran of [await retry(fork), imported]) {
      expect([ran.status, ran.stdout]).toEqual([0, "word=none\n"]);
      expect(ran.stderr).toContain(
        "asked for elsewhere, with PWD_WORD in its environment. It now runs without",
      );
    }
    const named = await retry(fork, "--env", "PWD_WORD");
    expect([named.status, named.stdout]).toEqual([0, expect.not.stringContaining("none")]);
    expect(named.stderr).not.toContain("elsewhere");
    await there.quiet();
  });
});
