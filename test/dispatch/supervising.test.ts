/**
 * What looks after a home, look by look.
 */
import { describe, expect, it } from "vitest";
import { Supervisor } from "../../src/dispatch/index.ts";
import { HostHome, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { parkedSession } from "../support/parking.ts";

describe("a parked task whose time has come", () => {
  it("is tried again after a pause if it could not go on", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await parkedSession(home, { reason: "usage_limit", until: "2026-01-01T00:00:00.000Z" });
    // Another process has the session for a while.
    const owned = await dispatcher.holdfast.resumeSession(id, { files: false });
    const said: string[] = [];
    const supervisor = new Supervisor(dispatcher, (text) => said.push(text));
    await supervisor.look();
    expect(said).toEqual([expect.stringContaining(`${id} can't be started: `)]);
    await supervisor.look();
    expect(said).toHaveLength(1);
    await owned.abandon();
    await until(async () => {
      await supervisor.look();
      return isDone((await dispatcher.show(id)).task);
    });
    expect(said).toContain(`${id} was parked until now, and continues`);
  });
});
