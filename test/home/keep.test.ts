/**
 * How long a session stays, and who decides that.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionWithTurns, TestHome } from "../support/home.ts";
import { HostHome, reaches, script } from "../support/hosts.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const later = (days: number) => ({
  clock: { nowMs: () => Date.now() + days * DAY_MS, monotonicMs: () => performance.now() },
});

describe("a session that is kept", () => {
  it("retention-1 is never archived or deleted by gc until a person undoes the keep", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const ids = [await sessionWithTurns(hf, 1), await sessionWithTurns(hf, 1)];
    const [kept = "", other = ""] = ids;
    await hf.keepSession(kept);
    for (const id of ids) await hf.closeSession(id);
    const old = await home.open(later(400));
    const retention = { archiveClosedDays: 30, deleteArchivedDays: 60 };
    await old.gc({ retention });
    const older = await home.open(later(800));
    await older.gc({ retention });
    expect(await older.showSession(kept)).toMatchObject({ status: "closed", isKept: true });
    await expect(older.showSession(other)).rejects.toMatchObject({ code: "session_not_found" });
    // A person may archive it; it is still kept.
    await older.archiveSession(kept);
    await (await home.open(later(1200))).gc({ retention });
    await older.keepSession(kept, false);
    expect((await older.auditSession(kept)).findings).toEqual([]);
    for (const days of [1600, 2000]) await (await home.open(later(days))).gc({ retention });
    await expect(older.showSession(kept)).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("can be one that is running, and its forks are not kept", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    const { status, stdout } = await home.cli("keep", id);
    expect([status, stdout]).toEqual([0, `${id} is kept\n`]);
    expect(await dispatcher.show(id)).toMatchObject({ status: "running", isKept: true });
    await dispatcher.pause(id);
    const fork = await dispatcher.holdfast.forkSession(id, { atTurn: 0 });
    await fork.pause();
    expect((await dispatcher.show(fork.id)).isKept).toBe(false);
    expect((await home.cli("keep", id, "--undo")).stdout).toBe(`${id} is no longer kept\n`);
    expect((await dispatcher.show(id)).isKept).toBe(false);
  });
});

describe("retention in settings.yaml", () => {
  it("sets how long sessions stay, unless the caller of gc overrides it", async () => {
    using home = new TestHome();
    mkdirSync(home.dir, { mode: 0o700 });
    writeFileSync(join(home.dir, "settings.yaml"), "retention: { archive_closed_days: 5 }\n");
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    await hf.closeSession(id);
    const after = await home.open(later(6));
    expect((await after.gc({ dryRun: true, retention: { archiveClosedDays: 10 } })).done).toEqual([]);
    expect((await after.gc()).done).toMatchObject([{ action: "archive", what: id }]);
  });
});
