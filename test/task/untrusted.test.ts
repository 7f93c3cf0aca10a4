/**
 * A repo's file that no person accepted widens nothing, wherever it is read. Each place is also tried with an
 * accepted file, so that the test would notice an effect.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JournalRecord } from "../../src/contract/index.ts";
import { usualTools } from "../../src/contract/index.ts";
import { openHome } from "../../src/home/index.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import type { Session } from "../../src/session/index.ts";
import { forgetTrust } from "../../src/task/index.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { Served } from "../support/served.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";
import { acceptFile } from "../support/trust.ts";

const files = {
  "a.txt": "one\n",
  ".gitignore": ".env\nmade\n",
  "holdfast.yaml": `lane: deps
lanes:
  deps: { hosts: [registry.example.org], approval: [] }
setup_hosts: [setup.example.org]
capsule: { include: [.env], setup: echo made > made }
`,
};

/** What the repo's file would bring into a capsule. */
const SEEN = "cat .env 2>/dev/null";

const withEnv = <H extends TaskHome>(home: H): H => {
  writeFileSync(join(home.main, ".env"), "secret");
  return home;
};

async function forget({ dir, main }: TaskHome): Promise<void> {
  await forgetTrust(await openHome({ home: dir }), main);
}

async function recordsOf(hf: LocalHome, id: string, type: string): Promise<JournalRecord["data"][]> {
  const found: JournalRecord["data"][] = [];
  for await (const record of hf.readJournal(id)) if (record.type === type) found.push(record.data);
  return found;
}

/** A session whose task is over, with its capsule. */
async function endedIn(home: TaskHome, hf: LocalHome): Promise<Session> {
  const { session, task } = await home.start(hf);
  await turn(task, "echo work > work");
  await task.end("done");
  return session;
}

const bases = ({ dir }: TaskHome) => {
  const [repo = ""] = readdirSync(join(dir, "repos"));
  const path = join(dir, "repos", repo, "bases");
  return existsSync(path) ? readdirSync(path).filter((name) => /^[0-9a-f]{32}$/.test(name)) : [];
};

function dropCache({ dir }: TaskHome): void {
  for (const repo of readdirSync(join(dir, "repos")))
    for (const part of ["bases", "layers"])
      rmSync(join(dir, "repos", repo, part), { recursive: true, force: true });
}

describe("trust-1 a repo's file that no person accepted", () => {
  it("trust-1 gives a task no hosts and no files, and the words that were not accepted are recorded", async () => {
    using home = withEnv(new TaskHome(files));
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    expect(task.lane).toMatchObject({ name: "deps", isReadOnly: false, isWithoutCommands: false, hosts: [] });
    expect(await turn(task, SEEN)).toBe("");
    await task.end("done");
    // Asking for the lane by its name gives no more.
    const named = await hf.startTask(session, { ...sandbox, lane: "deps", hosts: ["mine.example.org"] });
    expect(named.lane.hosts).toEqual(["mine.example.org"]);
    await named.end("done");
    const [first, second] = await recordsOf(hf, session.id, "task_started");
    expect(first).toMatchObject({
      lane: "deps",
      notAccepted: [
        { key: "capsule.include", value: ".env" },
        { key: "setup_hosts", value: "setup.example.org" },
        { key: "lanes.deps.hosts", value: "registry.example.org" },
        { key: "lanes.deps.approval", value: { approval: [], external: [] } },
        { key: "lane", value: "deps" },
      ],
    });
    expect(first).not.toHaveProperty("hosts");
    expect(second).toMatchObject({ lane: "deps", hosts: ["mine.example.org"] });

    await acceptFile(home);
    const accepted = await hf.startTask(session, sandbox);
    expect(accepted.lane.hosts).toEqual(["registry.example.org"]);
    expect(await turn(accepted, SEEN)).toBe("secret");
    await accepted.end("done");
    expect((await recordsOf(hf, session.id, "task_started")).at(-1)).not.toHaveProperty("notAccepted");
    // The next commits ask for other words than those that were accepted.
    commitFiles(home.main, { "holdfast.yaml": files["holdfast.yaml"].replace(".env", "../a/.env") }, "wrong");
    await expect(hf.startTask(session, { ...sandbox, isFresh: true })).rejects.toMatchObject({
      code: "config_invalid",
    });
    commitFiles(home.main, { "holdfast.yaml": "lane: online\ncapsule: { include: [.env] }\n" }, "other");
    const other = await hf.startTask(session, { ...sandbox, isFresh: true });
    expect(other.lane).toMatchObject({ name: "repo-fix", hosts: [] });
    expect(await turn(other, SEEN)).toBe("secret");
    await other.end("done");
    await session.pause();
  });

  it("trust-1 gives set-up no hosts, and a base made without hosts is not used where hosts are allowed", async () => {
    using home = withEnv(new TaskHome(files));
    const hf = await home.open();
    await (await endedIn(home, hf)).pause();
    const without = bases(home);
    expect(without).toHaveLength(1);
    gitIn(home.main, "rm", "-q", "--cached", "holdfast.yaml");
    const plain = "capsule: { setup: echo made > made }\n";
    commitFiles(home.main, { "holdfast.yaml": plain, "b.txt": "b" }, "asks for nothing");
    await (await endedIn(home, hf)).pause();
    // The next commit is near enough to use the same base.
    expect(bases(home)).toEqual(without);
    gitIn(home.main, "revert", "--no-edit", "HEAD");
    await acceptFile(home);
    await (await endedIn(home, hf)).pause();
    expect(bases(home)).toHaveLength(2);
  });

  it("trust-1 gives nothing to the next task if a task wrote it, even after it is merged", async () => {
    using home = withEnv(new TaskHome({ "a.txt": "one\n", ".gitignore": ".env\n" }));
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "printf 'lane: online\\ncapsule: { include: [.env] }\\n' > holdfast.yaml");
    await task.end("done");
    const next = await hf.startTask(session, sandbox);
    expect(next.lane).toMatchObject({ name: "repo-fix", hosts: [] });
    expect(await turn(next, SEEN)).toBe("");
    await next.end("done");
    await session.pause();
    // The file decides about other work, so that a person has to review it before it is published.
    await expect(hf.branchSession(session.id)).rejects.toMatchObject({ code: "needs_review" });
    await hf.branchSession(session.id, { isReviewed: true });
    // It is now in the user's branch, and still widens nothing until it is accepted.
    gitIn(home.main, "merge", "-q", home.branchOf(session.id));
    const resumed = await hf.resumeSession(session.id);
    const merged = await hf.startTask(resumed, { ...sandbox, isFresh: true });
    expect(merged.lane).toMatchObject({ name: "repo-fix", hosts: [] });
    expect(await turn(merged, SEEN)).toBe("");
    await merged.end("done");
    await resumed.pause();
  });

  it("trust-1 brings no file into a capsule by restore, rewind or resume", async () => {
    using home = withEnv(new TaskHome(files));
    await acceptFile(home);
    const hf = await home.open();
    const session = await endedIn(home, hf);
    await session.pause();
    const seenAfter = async (bring: () => Promise<unknown>) => {
      await bring();
      const resumed = await hf.resumeSession(session.id);
      const seen = await inCapsule(hf, resumed, SEEN);
      const { lane } = await hf.currentTask(resumed, sandbox);
      await resumed.pause();
      return [seen, lane.hosts];
    };
    const tearDown = async () => {
      await hf.tearDownSession(session.id);
      dropCache(home);
    };
    const ways: [string, () => Promise<unknown>][] = [
      ["restore", async () => [await tearDown(), await hf.restoreSession(session.id)]],
      ["rewind", () => hf.rewindSession(session.id, 1)],
      ["resume", tearDown],
    ];
    // The hosts come from the record: what a person allowed a task holds until the task ends.
    for (const [way, bring] of ways)
      expect(await seenAfter(bring), way).toEqual(["secret", ["registry.example.org"]]);
    await forget(home);
    for (const [way, bring] of ways)
      expect(await seenAfter(bring), way).toEqual(["", ["registry.example.org"]]);
    const built = bases(home);
    await acceptFile(home);
    await seenAfter(tearDown);
    expect(bases(home), "set-up with hosts").not.toEqual(built);
  });

  it("trust-1 gives nothing to a fork, which does not get the hosts of its parent either", async () => {
    using home = withEnv(new TaskHome(files));
    await acceptFile(home);
    const hf = await home.open();
    const session = await endedIn(home, hf);
    await session.pause();
    const forked = async () => {
      dropCache(home);
      const child = await hf.forkSession(session.id);
      const seen = await inCapsule(hf, child, SEEN);
      const { lane } = await hf.currentTask(child, sandbox);
      await child.pause();
      return [seen, lane.hosts];
    };
    expect(await forked()).toEqual(["secret", ["registry.example.org"]]);
    await forget(home);
    expect(await forked()).toEqual(["", []]);
  });

  it("trust-1 gives nothing to an import, which does not bring its own lane and hosts either", async () => {
    using home = withEnv(new TaskHome(files));
    await acceptFile(home);
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work");
    await task.end("done");
    const asked = await hf.startTask(session, { ...sandbox, lane: "online", hosts: ["evil.example.org"] });
    await asked.end("done");
    await session.pause();
    const file = home.join("moved.holdfast");
    await hf.exportSession(session.id, file);
    for (const isAccepted of [false, true]) {
      using there = withEnv(new TaskHome(files));
      gitIn(there.main, "fetch", "-q", home.main, "main", `${home.branchOf(session.id)}:came`);
      gitIn(there.main, "reset", "-q", "--hard", "FETCH_HEAD");
      if (isAccepted) await acceptFile(there);
      const elsewhere = await there.open();
      const id = await elsewhere.importSession(file, { repo: there.main });
      const imported = await elsewhere.resumeSession(id);
      expect(imported.state.task?.lane).toBeNull();
      expect(await inCapsule(elsewhere, imported, SEEN)).toBe(isAccepted ? "secret" : "");
      const { lane } = await elsewhere.currentTask(imported, sandbox);
      expect(lane.hosts).toEqual(isAccepted ? ["registry.example.org"] : []);
      await imported.pause();
    }
  });
});

describe("trust-1 with session processes, a repo's file that no person accepted", () => {
  it("trust-1 gives a retry only what was asked for; a retry in a fork is refused until a lane is named", async () => {
    using home = withEnv(new HostHome(files));
    const dispatcher = await home.dispatcher();
    const spec = script(`${SEEN}; echo there`, { lane: "deps", hosts: ["mine.example.org"] });
    const { id } = await dispatcher.begin({ repo: home.main }, spec);
    await reaches(dispatcher, id, "paused");
    const retried = async (...args: string[]) => {
      const { stdout, stderr, status } = await home.cli("retry", id, ...args);
      await home.quiet();
      return { stdout, status, router: /^\[router\] .*$/m.exec(stderr)?.[0].replace(/^.*lane=/, "") };
    };
    const asked = "deps hosts=mine.example.org";
    expect(await retried()).toEqual({ status: 0, stdout: "there\n", router: asked });
    await acceptFile(home);
    const both = "deps hosts=registry.example.org,mine.example.org";
    expect(await retried()).toEqual({ status: 0, stdout: "secretthere\n", router: both });
    await forget(home);
    expect(await retried()).toEqual({ status: 0, stdout: "there\n", router: asked });
    expect((await retried("--lane", "read-only", "--host", "b.org")).router).toBe("read-only hosts=b.org");

    const fork = home.idOf((await home.cli("fork", id)).stdout.trim());
    const refused = await home.cli("retry", fork);
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("asked for elsewhere, with lane read-only, b.org: name the lane"),
    });
    const allowed = await home.cli("retry", fork, "--lane", "deps");
    expect(allowed).toMatchObject({ status: 0, stderr: expect.stringMatching(/lane=deps$/m) });
  });

  it("trust-1 gives nothing to a task that serve starts or continues, beyond what the task's record names", async () => {
    using home = withEnv(new HostHome(files));
    const dispatcher = await home.dispatcher();
    const wait = `${SEEN}; echo up >> ups; sleep 60`;
    const spec = script(wait, { lane: "deps", hosts: ["mine.example.org"], restart: true });
    const { id } = await dispatcher.begin({ repo: home.main }, spec);
    await reaches(dispatcher, id, "running");
    await dispatcher.submit(id, script(`${SEEN}; echo next`));
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await using _ = await Served.start(home);
    await until(
      () => dispatcher.show(id),
      ({ status, turns }) => status === "running" && turns === 2,
    );
    expect((await dispatcher.show(id)).task?.lane).toEqual({
      name: "deps",
      isReadOnly: false,
      isWithoutCommands: false,
      hosts: ["mine.example.org"],
      tools: usualTools,
    });
    await home.cli("interrupt", id);
    const { task } = await until(
      () => dispatcher.show(id),
      (shown) => shown.task?.number === 2 && isDone(shown.task),
    );
    expect(task?.lane).toMatchObject({
      name: "deps",
      isReadOnly: false,
      isWithoutCommands: false,
      hosts: [],
    });
    expect((await home.cli("output", `${id}/2`)).stdout).toBe("next\n");
    expect((await home.cli("output", `${id}/1`)).stdout).not.toContain("secret");
  });
});
