/**
 * An approval and its grant belong to one session as it is now: a copy, a fork or an import of it has
 * neither.
 */
import { execFileSync } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { typesOf } from "../support/hosts.ts";
import { isParked, PushHome } from "../support/pushing.ts";

describe.skipIf(!hasSandbox)("an approval and copies of its session", () => {
  it("spend-1 an older copy of the session's directory brings no grant back, even if approved again", async () => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    await home.quiet();
    const copy = home.join("copy");
    execFileSync("cp", ["-a", home.sessionDir(id), copy]);
    expect(await home.approve(id)).toBe(0);
    expect((await home.cli("wait", id)).status).toBe(0);
    await home.quiet();
    expect(home.effects()).toBe(1);
    rmSync(home.sessionDir(id), { recursive: true });
    renameSync(copy, home.sessionDir(id));
    const status = await home.approve(id);
    await home.cli("wait", id);
    await home.quiet();
    expect(home.effects()).toBe(1);
    expect(status).toBe(0);
    expect((await home.cli("log", id)).stdout).toContain("was already spent, so nothing was done again");
  });

  it("a fork, an import and a closed session have no approval that waits", async () => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    await home.quiet();
    const other = home.join("other");
    const waiting = async (...where: string[]) => {
      const { stdout } = await home.cli("approvals", "--json", ...where);
      return (JSON.parse(stdout) as { session: string }[]).map(({ session }) => session);
    };
    expect(await waiting()).toEqual([id]);
    const fork = await home.cli("fork", id, "--json");
    expect(fork.status, fork.stderr).toBe(0);
    const file = home.join("session.holdfast");
    expect((await home.cli("export", id, "--output", file)).status).toBe(0);
    const taken = await home.cli("import", file, "--home", other);
    expect(taken.status, taken.stderr).toBe(0);
    expect(dispatcher.sessionIds()).toHaveLength(2);
    expect(await waiting()).toEqual([id]);
    expect(await waiting("--home", other)).toEqual([]);
    expect((await home.cli("close", id)).status).toBe(0);
    expect(await waiting()).toEqual([]);
    expect(await typesOf(dispatcher, id)).not.toContain("approval_granted");
  });
});
