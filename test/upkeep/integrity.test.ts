/**
 * What a session keeps beside its journal. Any change to the bytes of an artifact, a snapshot or the store is
 * found and attributed to the right session, and hides no other damage.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import type { Task } from "../../src/task/task.ts";
import { HostHome } from "../support/hosts.ts";
import { sandbox, TaskHome } from "../support/tasks.ts";

/** Makes a session at rest that has two turns of files, something in HOME and an artifact. */
async function work(home: TaskHome, hf: LocalHome, text: string): Promise<string> {
  const { session, task } = await home.start(hf, text);
  const turn = async (task: Task, script: string) => void (await task.runTurn(["sh", "-c", script]));
  await turn(
    task,
    `seq 1 400 | sed 's/^/${text} /' > one; mkdir -p d; echo ${text} > d/e; echo ${text} > "$HOME/talk"`,
  );
  await turn(task, `seq 1 400 | sed 's/^/second ${text} /' > two; echo more >> "$HOME/talk"`);
  await task.end("done");
  await session.pause();
  return session.id;
}

/** The files of the store, by their paths. */
function storeFiles(home: TaskHome, pattern: RegExp): string[] {
  return readdirSync(join(home.dir, "repos"), { recursive: true, encoding: "utf8" })
    .filter((path) => /^[^/]+\/store\.git\//.test(path) && pattern.test(path))
    .map((path) => join(home.dir, "repos", path))
    .sort();
}

async function flipped<T>(path: string, offset: number, look: () => Promise<T>): Promise<T> {
  const original = readFileSync(path);
  const { mode } = statSync(path);
  const bytes = Buffer.from(original);
  bytes[offset] = (bytes[offset] as number) ^ (1 << (offset % 8));
  rmSync(path);
  writeFileSync(path, bytes, { mode });
  try {
    return await look();
  } finally {
    rmSync(path);
    writeFileSync(path, original, { mode });
  }
}

/** Whether the file is in the store of that home's own repo. */
function isOf(path: string, { main }: TaskHome): boolean {
  const [store = ""] = path.split("/store.git/");
  return readlinkSync(join(store, "objects")).startsWith(`${main}/`);
}

const spread = (path: string, count: number) => {
  const last = statSync(path).size - 1;
  return [...new Set(Array.from({ length: count }, (_, index) => Math.round((last * index) / (count - 1))))];
};

describe("files beside the journal", () => {
  it("audit finds a flipped byte in an artifact, and a missing artifact", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const id = await work(home, hf, "alpha");
    const file = "tasks/1/artifacts/change.patch";
    const path = home.sessionDir(id, file);
    expect(await hf.auditSession(id)).toMatchObject({
      findings: [],
      artifacts: readdirSync(dirname(path)).length,
    });
    for (const offset of spread(path, 12))
      await flipped(path, offset, async () =>
        expect((await hf.auditSession(id)).findings, `byte ${offset}`).toMatchObject([{ file }]),
      );
    // A fork does not have its parent's artifacts, and its audit must not miss them.
    const fork = await hf.forkSession(id);
    await fork.release();
    rmSync(path);
    expect((await hf.auditSession(id)).findings).toMatchObject([
      { file, reason: expect.stringContaining("missing") },
    ]);
    expect((await hf.auditSession(fork.id)).findings).toEqual([]);
    expect((await hf.examine()).filter(({ level }) => level === "bad")).toMatchObject([{ what: id }]);
  });

  it("deep checks find a flipped byte in a pack or its index, and blame only the session that it spoils", async () => {
    using home = new TaskHome();
    using elsewhere = new TaskHome();
    const hf = await home.open();
    const hurt = await work(home, hf, "alpha");
    const healthy = await work(elsewhere, hf, "beta");
    for (const id of [hurt, healthy])
      expect(await hf.auditSession(id, { deep: true })).toMatchObject({ findings: [], unseen: 0 });
    const seen = { named: 0, unnamed: 0 };
    const files = storeFiles(home, /\.(pack|idx)$/).filter((path) => isOf(path, home));
    for (const [index, path] of files.entries()) {
      const name = path.slice(home.dir.length + 1);
      const offset = Math.floor((statSync(path).size - 1) * ((index * 0.37) % 1));
      await flipped(path, offset, async () => {
        const { findings } = await hf.auditSession(hurt, { deep: true });
        const spoiled = findings.find(({ snapshot }) => snapshot);
        if (spoiled) {
          seen.named += 1;
          expect(spoiled.turns?.length).toBeGreaterThan(0);
          expect(spoiled.reason).toMatch(/^snapshot [0-9a-f]{40} \((the files|HOME) of turn /);
        }
        if (findings.length > 0 && index % 5 > 0) return;
        // Doctor also reports packs that no snapshot needs. It blames a session only if audit does, too.
        if (findings.length === 0) seen.unnamed += 1;
        const bad = (await hf.examine({ deep: true })).filter(({ level }) => level === "bad");
        expect(bad[0], `${name} ${offset}`).toMatchObject({
          what: "store",
          detail: expect.stringContaining(name),
        });
        expect(bad.some(({ what }) => what === hurt)).toBe(findings.length > 0);
        expect(bad.map(({ what }) => what)).not.toContain(healthy);
      });
    }
    expect(seen.named).toBeGreaterThan(5);
  });

  it("audit finds a broken ref, and a store that git can't open, even without --deep", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const id = await work(home, hf, "alpha");
    const [ref = ""] = storeFiles(home, new RegExp(`refs/snapshots/${id}/`));
    for (const offset of spread(ref, 5))
      await flipped(ref, offset, async () =>
        expect((await hf.auditSession(id)).findings, `byte ${offset}`).toMatchObject([
          { file: ref.slice(home.dir.length + 1) },
        ]),
      );
    const [head = ""] = storeFiles(home, /store\.git\/HEAD$/);
    await flipped(head, 0, async () => {
      expect((await hf.auditSession(id)).findings).toMatchObject([{ turns: [1, 2] }]);
      const bad = (await hf.examine()).filter(({ level }) => level === "bad");
      expect(bad.map(({ what }) => what)).toEqual(["store", id]);
    });
    rmSync(join(head, ".."), { recursive: true });
    expect((await hf.auditSession(id)).findings).toMatchObject([{ turns: [1, 2] }]);
  });

  it("with all packs damaged, doctor reports each session, and every method that needs a snapshot names it", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const hf = await home.open();
    const ids = [await work(home, hf, "alpha"), await work(home, hf, "beta")];
    const plain = await hf.openSession();
    await plain.pause();
    const [id = ""] = ids;
    for (const path of storeFiles(home, /\.pack$/)) {
      const bytes = readFileSync(path);
      bytes[bytes.length - 5] = (bytes[bytes.length - 5] as number) ^ 1;
      rmSync(path);
      writeFileSync(path, bytes);
    }
    for (const deep of [false, true]) {
      const bad = (await hf.examine({ deep })).filter(({ level }) => level === "bad");
      expect(new Set(bad.map(({ what }) => what))).toEqual(new Set([...(deep ? ["store"] : []), ...ids]));
      for (const one of ids)
        expect((await hf.auditSession(one, { deep })).findings.map(({ turns }) => turns)).toContainEqual([2]);
    }
    expect((await hf.auditSession(plain.id)).findings).toEqual([]);
    await hf.gc();
    const before = (await hf.listSessions()).length;
    const wanted = {
      code: "snapshot_invalid",
      message: expect.stringMatching(new RegExp(`^snapshot [0-9a-f]{40} of session ${id} .* of turn 2`)),
      facts: { session: id, turn: 2, wholeTurn: 0 },
    };
    await expect(hf.diffSession(id)).rejects.toMatchObject(wanted);
    await expect(hf.exportSession(id, home.join("e"))).rejects.toMatchObject(wanted);
    await expect(hf.forkSession(id)).rejects.toMatchObject(wanted);
    rmSync(home.capsuleDir(id), { recursive: true });
    await expect(hf.restoreSession(id)).rejects.toMatchObject(wanted);
    await expect(hf.resumeSession(id)).rejects.toMatchObject(wanted);
    await expect(hf.handOffSession(id, { to: "ani", directory: home.join("by-hand") })).rejects.toMatchObject(
      wanted,
    );
    expect((await hf.listSessions()).length).toBe(before);
  });

  it("git-2 a fork of a damaged snapshot fails, leaves nothing behind and names the last turn that is whole", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const hf = await home.open();
    const id = await work(home, hf, "alpha");
    const { findings } = await hf.auditSession(id, { deep: true });
    expect(findings).toEqual([]);
    // Each turn has packs of its own.
    const commits = new Map<string, number>();
    for await (const { type, data } of hf.readJournal(id))
      if (type === "snapshot_taken") commits.set(String(data["snapshot"]), Number(data["turn"]));
    const isSecondOnly = async () => {
      const damages = (await hf.auditSession(id, { deep: true })).findings;
      const files = damages.filter(({ snapshot = "" }) => commits.get(snapshot) === 2);
      return files.length > 0 && damages.every(({ turns = [2] }) => turns.every((at) => at === 2));
    };
    let located = 0;
    for (const path of storeFiles(home, /\.pack$/)) {
      if (located > 0) break;
      const offset = Math.floor(statSync(path).size / 2);
      await flipped(path, offset, async () => {
        if (!(await isSecondOnly())) return;
        const sessions = (await hf.listSessions()).length;
        await expect(hf.forkSession(id)).rejects.toMatchObject({
          code: "snapshot_invalid",
          facts: { session: id, turn: 2, wholeTurn: 1 },
        });
        expect((await hf.listSessions()).length).toBe(sessions);
        const fork = await hf.forkSession(id, { atTurn: 1 });
        expect((await hf.auditSession(fork.id, { deep: true })).findings).toEqual([]);
        await fork.pause();
        located += 1;
      });
    }
    expect(located).toBeGreaterThan(0);
  });

  it("task-2 a teardown refuses to remove a capsule that is the last good copy of something", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const hf = await home.open();
    const id = await work(home, hf, "alpha");
    let refused = 0;
    for (const path of storeFiles(home, /\.pack$/)) {
      await flipped(path, Math.floor(statSync(path).size / 2), async () => {
        if ((await hf.auditSession(id, { deep: true })).findings.length === 0) return;
        const outcome = await hf.tearDownSession(id).then(
          () => "torn down",
          (error: { code?: string }) => error.code,
        );
        // The damage may be in a snapshot of HOME, which a teardown leaves in place.
        if (outcome === "torn down") await hf.restoreSession(id);
        else refused += outcome === "snapshot_invalid" ? 1 : 0;
        expect(existsSync(join(home.capsuleDir(id), "capsule.json"))).toBe(true);
      });
    }
    expect(refused).toBeGreaterThan(0);
    await hf.tearDownSession(id);
  });

  it("audit finds a flipped byte in an imported pack, and a missing pack", async () => {
    using home = new TaskHome();
    using there = new TaskHome();
    const hf = await home.open();
    const id = await work(home, hf, "alpha");
    await hf.exportSession(id, home.join("out"));
    const other = await there.open();
    await other.importSession(home.join("out"));
    expect(await other.auditSession(id, { deep: true })).toMatchObject({ findings: [], unseen: 0 });
    const path = there.sessionDir(id, "snapshots.pack");
    for (const offset of spread(path, 12))
      await flipped(path, offset, async () =>
        expect((await other.auditSession(id)).findings, `byte ${offset}`).toMatchObject([
          { file: "snapshots.pack", turns: [1, 2] },
        ]),
      );
    // An empty pack with a valid hash lacks what the journal names. Only --deep can see that.
    const original = readFileSync(path);
    const empty = Buffer.from("PACK\0\0\0\u0002\0\0\0\0");
    writeFileSync(path, Buffer.concat([empty, createHash("sha1").update(empty).digest()]));
    expect((await other.auditSession(id)).findings).toEqual([]);
    expect((await other.auditSession(id, { deep: true })).findings.length).toBeGreaterThan(0);
    writeFileSync(path, original);
    const fork = await other.forkSession(id);
    await fork.release();
    expect(await other.auditSession(fork.id)).toMatchObject({ findings: [] });
    rmSync(path);
    expect((await other.auditSession(id)).findings).toMatchObject([{ file: "snapshots.pack" }]);
    expect(readdirSync(join(there.dir, "staging"))).toEqual([]);
  });
});

describe("the command line with damaged snapshots", () => {
  it("audit says what it left unread; with --deep it exits with 6, and run and retry name the snapshot", async () => {
    using home = new HostHome({ "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const hf = await home.open();
    const run = (...args: string[]) => home.cli("run", ...(sandbox.sandbox ? [] : ["--no-sandbox"]), ...args);
    // Both tasks fail and are not published, so the next task needs their snapshot, and so does a retry.
    await run("--repo", home.main, "--", "sh", "-c", "echo kept > file; exit 1");
    const [{ id } = { id: "" }] = await hf.listSessions();
    await run("--session", id, "--", "sh", "-c", "echo more >> file; exit 1");
    await home.quiet();
    const whole = await home.cli("audit", id);
    expect(whole).toMatchObject({ status: 0, stderr: "" });
    expect(whole.stdout).toMatch(
      /unread {2}the contents of snapshots; --deep reads them\n.*[1-9]\d* artifacts, \d+ snapshots: whole\n$/,
    );
    const deep = await home.cli("audit", id, "--deep");
    expect(deep).toMatchObject({ status: 0, stdout: expect.stringMatching(/: whole\n$/) });
    for (const path of storeFiles(home, /\.pack$/)) {
      const bytes = readFileSync(path);
      bytes[bytes.length - 5] = (bytes[bytes.length - 5] as number) ^ 1;
      rmSync(path);
      writeFileSync(path, bytes);
    }
    expect((await home.cli("audit", id, "--deep")).status).toBe(6);
    expect((await home.cli("doctor")).status).toBe(6);
    expect((await home.cli("doctor", "--deep")).status).toBe(6);
    expect((await home.cli("doctor", "--repair", id)).stdout).toContain("can't be repaired");
    for (const again of [await run("--session", id, "--", "true"), await home.cli("retry", id)]) {
      expect(again.status).not.toBe(0);
      expect(again.stderr + again.stdout).toMatch(/snapshot [0-9a-f]{40} of session/);
    }
    await home.quiet();
    const records = await Array.fromAsync(hf.readJournal(id));
    const stopped = records.filter(({ type }) => type === "task_refused" || type === "task_halted");
    // The next task has its files from the capsule, but can't take a snapshot of its own. The retry needs the
    // damaged snapshot to begin.
    expect(new Set(stopped.map(({ type, data }) => `${type} ${data["code"]}`))).toEqual(
      new Set(["task_halted snapshot_invalid", "task_refused snapshot_invalid"]),
    );
  });
});
