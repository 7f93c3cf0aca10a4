/**
 * Every operation on a home is cut off at every single step, and what was not synced is lost. What was there
 * before must still be whole, what was to be made must be there completely or not at all, and doing it again
 * must work.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../src/contract/errors.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import { encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { realDisk, sha256Hex } from "../../src/util/index.ts";
import { memoryDir, sessionWithTurns, TestHome } from "../support/home.ts";
import { PowerLoss, PowerLossDisk } from "../support/power-loss-disk.ts";

interface Operation {
  readonly name: string;
  /** Prepared on a good disk. */
  prepare(hf: LocalHome, home: TestHome): Promise<string>;
  run(hf: LocalHome, id: string, home: TestHome): Promise<void>;
  /** Called after the crash, on a good disk. */
  check?(hf: LocalHome, id: string): Promise<void>;
}

async function closedSession(hf: LocalHome): Promise<string> {
  const session = await hf.openSession({ title: "base" });
  await (await session.beginTurn("long ".repeat(2000))).end({ inputTokens: 5 });
  await session.close();
  return session.id;
}

const operations: Operation[] = [
  {
    name: "open",
    prepare: closedSession,
    run: async (hf) => {
      const session = await hf.openSession({ title: "new" });
      await (await session.beginTurn("hello")).end();
      await session.pause();
    },
  },
  {
    name: "resume, turns and a cached fold",
    prepare: closedSession,
    run: async (hf, id) => {
      const session = await hf.resumeSession(id);
      const turn = await session.beginTurn("more");
      for (let index = 0; index < 10; index += 1) {
        // Each record has 160 kB in its line, so the segment rolls over and a fold is cached.
        const fields = Object.fromEntries(
          Array.from({ length: 40 }, (_, field) => [`f${field}`, "r".repeat(4000)]),
        );
        await session.append("custom", { name: "fill", ...fields });
      }
      await turn.end();
      await session.pause();
    },
  },
  {
    name: "fork",
    prepare: closedSession,
    run: async (hf, id) => (await hf.forkSession(id)).release(),
    check: async (hf, id) => {
      for (const one of await hf.listSessions())
        if (one.id !== id) expect(one).toMatchObject({ turns: 1, parent: { id } });
    },
  },
  {
    name: "archive",
    prepare: closedSession,
    run: async (hf, id) => void (await hf.archiveSession(id)),
    check: async (hf, id) => {
      await hf.gc();
      expect((await hf.showSession(id)).status).toMatch(/^(closed|archived)$/);
      expect((await hf.gc()).done).toEqual([]);
    },
  },
  {
    name: "export",
    prepare: closedSession,
    run: async (hf, id, home) => {
      await hf.exportSession(id, home.join(`out-${Date.now()}-${Math.random()}`));
    },
  },
  {
    name: "import",
    prepare: async (hf, home) => {
      writeFileSync(home.join("import.holdfast"), await exportedElsewhere());
      return closedSession(hf);
    },
    run: async (hf, _id, home) => {
      await hf.importSession(home.join("import.holdfast"));
    },
    check: async (hf, id) => {
      for (const one of await hf.listSessions())
        if (one.id !== id) {
          expect(one).toMatchObject({ status: "paused", turns: 2 });
          const dir = join(hf.dir, "sessions", one.id);
          expect(readFileSync(join(dir, "tasks/1/artifacts/left"), "utf8")).toBe("left");
          expect(readdirSync(join(dir, "inbox/new"))).toHaveLength(1);
        }
    },
  },
];

let exported: Promise<Buffer> | undefined;

/** An export of a session that has an artifact and a message beside its journal. It is made once. */
function exportedElsewhere(): Promise<Buffer> {
  exported ??= (async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 2);
    mkdirSync(home.sessionDir(id, "tasks/1/artifacts"), { recursive: true });
    writeFileSync(home.sessionDir(id, "tasks/1/artifacts/left"), "left");
    const session = await hf.resumeSession(id);
    await session.append("artifact_written", { task: 1, name: "left", sha256: sha256Hex("left"), bytes: 4 });
    await session.pause();
    const stamp = { id: "msg_1", from: "user:ani", at: "2026-01-01T00:00:00.000Z" };
    const bytes = encodeEnvelope({ ...stamp, kind: "message", to: id, text: "waits" });
    await new Maildir(realDisk, home.sessionDir(id, "inbox")).put("msg_1", bytes);
    await hf.exportSession(id, home.join("import.holdfast"));
    return readFileSync(home.join("import.holdfast"));
  })();
  return exported;
}

const losses: Record<string, () => boolean> = {
  all: () => true,
  none: () => false,
  some: () => Math.random() < 0.5,
};
/** Each step is tried with one of the losses; HOLDFAST_LONG=1 (npm run test:crash) tries each with all of them. */
const STRIDE = process.env["HOLDFAST_LONG"] ? 1 : Object.keys(losses).length;

describe("a crash between any two steps", () => {
  for (const { name, prepare, run, check } of operations) {
    for (const [at, [what, lose]] of Object.entries(losses).entries()) {
      it(`of ${name} damages no session when ${what} of the unsynced changes are lost`, async () => {
        for (let dieAt = 1 + (at % STRIDE); ; dieAt += STRIDE) {
          using home = new TestHome(memoryDir);
          const good = await home.open();
          const id = await prepare(good, home);
          const before = await Array.fromAsync(good.readJournal(id));
          const disk = new PowerLossDisk(home.join("attic"), dieAt);
          const dying = await home.open({ disk });
          let isFinished = false;
          try {
            await run(dying, id, home);
            isFinished = true;
          } catch (error) {
            if (!(error instanceof PowerLoss) && !isHoldfastError(error, "append_failed")) throw error;
          }
          disk.losePower(lose);

          const context = `step ${dieAt}`;
          const after = await Array.fromAsync(good.readJournal(id));
          expect(after.slice(0, before.length), context).toEqual(before);
          for (const one of await good.listSessions()) {
            expect((await good.auditSession(one.id)).findings, context).toEqual([]);
          }
          if (isFinished) {
            expect(dieAt).toBeGreaterThan(name === "export" ? 1 : 10);
            await check?.(good, id);
            return;
          }
          await check?.(good, id);
          // Here the crashed operation's lock belongs to this process. A real one would end with its process.
          if (name.startsWith("resume")) continue;
          if (name !== "archive") await good.gc();
          await run(good, id, home).catch((error: unknown) => {
            const isDone =
              isHoldfastError(error, "duplicate_session") || isHoldfastError(error, "illegal_transition");
            if (!isDone) throw error;
          });
          expect(
            readdirSync(join(home.dir, "sessions")).every((entry) => entry.startsWith("sess_")),
            context,
          ).toBe(true);
        }
      });
    }
  }
});
