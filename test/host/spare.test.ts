/**
 * A session process that is started before its session is known.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

/** A home that exists: only then is a process started early. */
async function begun(): Promise<HostHome> {
  const home = new HostHome();
  await home.dispatcher();
  return home;
}

const logsIn = ({ dir }: HostHome) =>
  readdirSync(join(dir, "staging")).filter((name) => name.startsWith("host-spare"));

const runIn = (home: HostHome, ...words: string[]) => ["run", "--repo", home.main, ...wall, ...words];

describe("a spare process", () => {
  it("becomes the session process of the session that the command opens", async () => {
    using home = await begun();
    const { stdout } = await home.cli(...runIn(home, "--json", "--detach", "--", "sleep", "60"));
    const { session } = JSON.parse(stdout);
    const pid = await until(
      async () => home.hostPid(session) ?? 0,
      (found) => found > 0,
    );
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")).toContain("spare");
    expect((await home.cli("pause", session)).status).toBe(0);
    await home.quiet();
    expect(logsIn(home)).toEqual([]);
  });

  it("ends without a trace if its command opens no session, and ends if its command is killed", async () => {
    using home = await begun();
    expect((await home.cli(...runIn(home, "--no-such-option", "--", "true"))).status).toBe(2);
    expect((await home.cli(...runIn(home, "--base", "no-such-commit", "--", "true"))).status).not.toBe(0);
    await home.quiet();
    expect(logsIn(home)).toEqual([]);
    const command = home.spawnCli(runIn(home, "--", "sleep", "2"));
    await until(
      async () => logsIn(home).length,
      (count) => count > 0,
    );
    command.kill("SIGKILL");
    await home.quiet();
  });
});
