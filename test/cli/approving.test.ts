/**
 * An approval at the terminal that shows the running task: the whole request is shown, and typing the first
 * characters of its fingerprint grants it.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { HostHome, until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

const STEPS = `
steps:
  - { tool: write_file, with: { path: made.txt, content: made } }
  - { tool: git_push, with: { branch: from-agent } }
`;

/** The bell, and the title of the window. */
const alertOf = (title: string) => `\u0007\u001b]0;holdfast: ${title}\u0007`;

function pushing(home: HostHome) {
  const bare = home.join("bare.git");
  execFileSync("git", ["init", "-q", "--bare", bare]);
  gitIn(home.main, "remote", "add", "origin", `file://${bare}`);
  writeFileSync(home.join("push.yaml"), STEPS);
  const words = ["run", "--name", "asked", "--lane", "pushing", "--script", home.join("push.yaml")];
  return { bare, words };
}

describe.skipIf(!hasSandbox || !hasScript)("holdfast run at a terminal", () => {
  it("asks for an approval: a wrong fingerprint grants nothing, holdfast approve elsewhere does", async () => {
    using home = new HostHome({ "holdfast.yaml": "lanes: { pushing: { external: [git_push] } }\n" });
    const { bare, words } = pushing(home);
    await using terminal = new Terminal(home, words);
    await terminal.shows("to approve it once");
    expect(terminal.screen).toContain(`file://${bare}`);
    terminal.type("000000\r");
    await terminal.shows("That does not match the fingerprint");
    expect(gitIn(bare, "for-each-ref")).toBe("");
    const { stdout } = await home.cli("approvals", "--json");
    const [{ id, fingerprint }] = JSON.parse(stdout);
    expect((await home.cli("approve", id, "--yes", "--fingerprint", fingerprint)).status).toBe(0);
    await terminal.shows("GRANTED");
    await terminal.shows("[persist]");
    expect(gitIn(bare, "show", "from-agent:made.txt")).toBe("made");
  });

  it("asks in attach about a request that waited before, and rings the bell when the task is done", async () => {
    using home = new HostHome({ "holdfast.yaml": "lanes: { pushing: { external: [git_push] } }\n" });
    const { bare, words } = pushing(home);
    const dispatcher = await home.dispatcher();
    writeFileSync(join(home.dir, "settings.yaml"), "ask_seconds: 600\n", { mode: 0o600 });
    expect((await home.cli(...words, "--detach", "--repo", home.main)).status).toBe(0);
    const [id = ""] = dispatcher.sessionIds();
    await until(async () => Object.keys((await dispatcher.show(id)).pending).length > 0);
    await using terminal = new Terminal(home, ["attach", "asked"]);
    await terminal.shows("to approve it once");
    const typed = /fingerprint ([0-9a-f]{6})[0-9a-f]{58}/.exec(terminal.screen)?.[1] ?? "";
    terminal.type(`${typed}\r`);
    await terminal.shows("[persist]");
    expect(gitIn(bare, "show", "from-agent:made.txt")).toBe("made");
    await terminal.shows(alertOf("asked: task 1 unverified"));
    expect(terminal.screen.split("to approve it once")).toHaveLength(2);
  });

  it("rings the bell when a task fails or is refused, and not where nobody sees it", async () => {
    using home = new HostHome();
    await using failed = new Terminal(home, ["run", "--name", "fails", "--", "sh", "-c", "exit 3"]);
    await failed.shows(alertOf("fails: task 1 failed"));
    commitFiles(home.main, { "holdfast.yaml": "capsule: { setup: exit 4 }\n" }, "set-up");
    await using refused = new Terminal(home, ["run", "--name", "none", "--", "true"]);
    await refused.shows(alertOf("none: failed"));
    const { stdout, stderr } = await home.cli("run", "--repo", home.main, "--", "false");
    expect(stdout + stderr).toContain("setup_failed");
    expect(stdout + stderr).not.toContain("\u0007");
  });

  it("shown-1 breaks the lines of a request at the terminal's width if its own output goes to a pipe", async () => {
    using home = new HostHome({ "holdfast.yaml": "lanes: { pushing: { external: [git_push] } }\n" });
    const { words } = pushing(home);
    // At the width of the terminal, the second half would begin a line and look like one of Holdfast's own.
    const faked = `${"x".repeat(100)}fingerprint`;
    writeFileSync(home.join("push.yaml"), STEPS.replace("from-agent", faked));
    const command = [process.execPath, cliPath, ...words].join(" ");
    await using terminal = new Terminal(home, ["-c", `${command} | cat > /dev/null`], "sh");
    await terminal.shows("to approve it once");
    const from = terminal.screen.indexOf("asked for by");
    const lines = terminal.screen.slice(from).split(/\r?\n/);
    const to = lines.findIndex((line) => line.startsWith("fingerprint "));
    expect(Math.max(...lines.slice(0, to).map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.slice(0, to).join("")).toContain("fingerprint");
  });

  it("asks for an approval, and typing the first characters of its fingerprint grants it", async () => {
    using home = new HostHome({ "holdfast.yaml": "lanes: { pushing: { external: [git_push] } }\n" });
    const { bare, words } = pushing(home);
    await using terminal = new Terminal(home, words);
    await terminal.shows("to approve it once");
    const typed = /fingerprint ([0-9a-f]{6})[0-9a-f]{58}/.exec(terminal.screen)?.[1] ?? "";
    terminal.type(`${typed}\r`);
    await terminal.shows("[persist]");
    expect(gitIn(bare, "show", "from-agent:made.txt")).toBe("made");
  });
});
