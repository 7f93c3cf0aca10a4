/**
 * Notices to a person who is not looking, sent by a command of their own.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Notices } from "../../src/host/notices.ts";
import { systemClock } from "../../src/util/index.ts";
import { HostHome, typesOf, until } from "../support/hosts.ts";

const PLACES = ["session", "title", "text"].map((name) => `\${${name}}`);

/** A command that writes each notice to a file, one per line. */
function teller(path: string): string[] {
  return ["sh", "-c", `printf '%s|' "$@" >> ${path}; echo >> ${path}`, "sh", ...PLACES];
}

function settings(home: HostHome, command: readonly string[]): void {
  writeFileSync(join(home.dir, "settings.yaml"), JSON.stringify({ notify: { command } }), { mode: 0o600 });
}

describe("notices", () => {
  it("tell that a task has ended, but not while a person watches it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const told = home.join("told");
    settings(home, teller(told));
    expect((await home.cli("run", "--repo", home.main, "--name", "seen", "--", "sleep", "1")).status).toBe(0);
    await home.quiet();
    expect(existsSync(told)).toBe(false);
    await home.cli("run", "--detach", "--repo", home.main, "--name", "quiet", "--", "true");
    const [id = ""] = dispatcher.sessionIds().slice(-1);
    await until(async () => (await typesOf(dispatcher, id)).includes("task_ended"));
    await home.quiet();
    expect(readFileSync(told, "utf8")).toBe("quiet|holdfast: quiet|task 1: done|\n");
  });

  it("do no harm if their command can't be started, and the log says so", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    settings(home, ["no-such-program"]);
    await home.cli("run", "--detach", "--repo", home.main, "--", "true");
    const [id = ""] = dispatcher.sessionIds();
    await until(async () => (await typesOf(dispatcher, id)).includes("task_ended"));
    await home.quiet();
    expect(readFileSync(home.sessionDir(id, "log", "host.log"), "utf8")).toContain(
      "notify in settings.yaml failed",
    );
  });

  it("notice-1 notice-2 keep an agent's text away from the shell, and are sent as one if they come close together", async () => {
    using home = new HostHome();
    const told = home.join("told");
    const canary = home.join("canary");
    const session = await (await home.open()).openSession({ title: "asks", name: "asks" });
    const notices = new Notices({
      session,
      clock: systemClock,
      command: async () => teller(told),
      isWatched: () => false,
      onFailure: (why) => expect(why).toBe(""),
    });
    const tool = `x'; touch ${canary}; $(touch ${canary})\u001b[2J\u202e`;
    const request = { fingerprint: "0".repeat(64), tool, args: {} };
    await session.append("approval_requested", { ...request, approval: "appr_1" });
    await session.append("approval_requested", { ...request, approval: "appr_2" });
    await session.append("question_asked", { question: "ques_1", text: "which?" });
    await notices.done();
    const lines = readFileSync(told, "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/holdfast answer ques_1 · .*appr_2/);
    expect(lines[0]).toContain(`touch ${canary}`);
    expect(lines[0]).toContain("appr_1");
    for (const hidden of ["\u001b", "\u202e"]) expect(lines[0]).not.toContain(hidden);
    expect(existsSync(canary)).toBe(false);
    await session.close();
  });
});
