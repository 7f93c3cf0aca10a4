/**
 * Shell completion, suggestions for mistyped words, and the overview of the verbs.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
import { describe, expect, it } from "vitest";
import { closest } from "../../src/cli/closest.ts";
import { shortIds } from "../../src/cli/complete.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { findProgram } from "../../src/process/index.ts";
import { cliPath, runCli } from "../support/cli.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

/** A home with two sessions, and `holdfast` on the PATH. */
class ShellHome extends TestHome {
  readonly #bin = this.join("bin");

  async begin(): Promise<[string, string]> {
    mkdirSync(this.#bin);
    const program = `#!/bin/sh\nexec '${process.execPath}' '${cliPath}' "$@"\n`;
    writeFileSync(this.join("bin", "holdfast"), program, { mode: 0o755 });
    const hf = await this.open();
    const first = await sessionWithTurns(hf, 0, { title: "fix the login" });
    return [first, await sessionWithTurns(hf, 0, { title: "speed\tup" })];
  }

  shell(name: string, script: string): string[] {
    const { stdout, stderr } = spawnSync(name, ["-c", script], {
      cwd: this.path,
      encoding: "utf8",
      env: {
        PATH: `${this.#bin}${delimiter}${process.env["PATH"]}`,
        HOME: this.path,
        HOLDFAST_HOME: this.dir,
      },
    });
    expect(stderr).toBe("");
    return stdout.split("\n").filter(Boolean);
  }

  /** Calls the completion function as readline does. */
  inBash(...words: string[]): string[] {
    const quoted = ["holdfast", ...words].map((word) => `'${word}'`).join(" ");
    return this.shell(
      "bash",
      `eval "$(holdfast completion bash)"
       COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}
       _holdfast holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );
  }
}

const tail = (id: string) => id.slice("sess_".length);

describe("completion", () => {
  it("in bash offers verbs, their flags, values of flags, and sessions by name and short id", async () => {
    using home = new ShellHome();
    const [first, second] = await home.begin();
    expect(home.inBash("re")).toEqual(["rebase", "rewind", "retry", "resume", "restore"]);
    expect(home.inBash("help", "ru")).toEqual(["run"]);
    expect(home.inBash("audit", "--d")).toEqual(["--deep"]);
    expect(home.inBash("usage", "--by", "")).toEqual(["session", "user", "agent", "model", "repo", "day"]);
    expect(home.inBash("token", "r")).toEqual(["rotate", "revoke"]);
    expect(home.inBash("run", "--lane", "re")).toEqual(["read-only", "repo-fix"]);
    const short = shortIds([first, second]);
    const [one = "", other = ""] = [first, second].map((id) => short.get(id));
    expect(tail(first).startsWith(one) && tail(second).startsWith(other)).toBe(true);
    // The newest session comes first.
    expect(home.inBash("show", "")).toEqual(["speed-up", other, "fix-the-login", one]);
    expect(home.inBash("show", "fix")).toEqual(["fix-the-login"]);
    for (const verb of ["diff", "wait", "rm"])
      expect(home.inBash(verb, "speed-up", "fix"), verb).toEqual(["fix-the-login"]);
    expect(home.inBash("token", "rotate", one)).toEqual([one]);
    expect(home.inBash("run", "--session", "=", one)).toEqual([one]);
    expect(home.inBash("send", "--from", "sess_")).toEqual([`sess_${other}`, `sess_${one}`]);
    // More than the short id was typed, so the whole id is offered.
    expect(home.inBash("show", tail(first).slice(0, one.length + 1))).toEqual([tail(first)]);
    expect((await runCli(home.dir, ["show", one, "--json"])).stdout).toContain(first);
    // Nothing, because the shell completes files itself: for import, and for the words of a command.
    expect(home.inBash("import", "")).toEqual([]);
    expect(home.inBash("run", "--", "")).toEqual([]);
  });

  it("describes each candidate on one line, whatever characters a title has", async () => {
    using home = new ShellHome();
    await home.begin();
    const { stdout } = await runCli(home.dir, ["__complete", "show", ""]);
    const abouts = stdout.split("\n").map((line) => line.split("\t").slice(1));
    const speed = [expect.stringMatching(/^paused, speed\S+up$/)];
    const login = ["paused, fix the login"];
    expect(abouts).toEqual([speed, speed, login, login, []]);
    expect((await runCli(home.dir, ["__complete", "pau"])).stdout).toBe("pause\tpause a session\n");
  });

  it("prints nothing when something is wrong, and makes no home", async () => {
    using home = new TestHome();
    mkdirSync(home.join("empty"));
    const silent = { status: 0, stdout: "", stderr: "" };
    expect(await runCli(home.dir, ["__complete", "show", ""])).toEqual(silent);
    expect(await runCli(home.dir, ["__complete", "show", "--home", home.join("empty"), ""])).toEqual(silent);
    expect(await runCli("/dev/null", ["__complete", "show", ""])).toEqual(silent);
    expect(await runCli(home.dir, ["__complete", "no-such-verb", "--x"])).toEqual(silent);
    expect(existsSync(home.dir)).toBe(false);
    expect(existsSync(home.join("empty", "home.json"))).toBe(false);
    expect((await runCli(home.dir, ["help"])).stdout).not.toContain("__complete");
  });

  it.skipIf(!findProgram("zsh"))("in zsh offers the matching verbs (left out without zsh)", async () => {
    using home = new ShellHome();
    await home.begin();
    const script = `words=(holdfast re); CURRENT=2; compdef() { :; }
      _describe() { print -l -- "\${candidates[@]%%:*}"; }; _files() { print files; }
      eval "$(holdfast completion zsh)"; _holdfast`;
    expect(home.shell("zsh", script)).toEqual(["rewind", "retry", "resume", "restore"]);
  });

  it.skipIf(!findProgram("fish"))("in fish offers the matching verbs (left out without fish)", async () => {
    using home = new ShellHome();
    await home.begin();
    const offered = home.shell("fish", "holdfast completion fish | source; complete -C 'holdfast re'");
    expect(offered.map((line) => line.split("\t")[0])).toEqual(["rewind", "retry", "resume", "restore"]);
  });
});

describe("a mistyped word", () => {
  it("gets a suggestion if a known word is close to it", async () => {
    const names = verbs.map(({ name }) => name);
    expect(closest("rnu", names)).toEqual(["run"]);
    expect(closest("atach", names)).toEqual(["attach"]);
    expect(closest("logs", names)).toEqual(["log"]);
    expect(closest("res", names)).toEqual(["resume", "restore"]);
    expect(closest("LS", names)).toEqual(["ls"]);
    expect(closest("nonsense", names)).toEqual([]);
    expect(closest("", names)).toEqual([]);

    using home = new TestHome();
    const said = async (...args: string[]) => {
      const { status, stderr } = await runCli(home.dir, args);
      expect(status).toBe(2);
      return stderr;
    };
    expect(await said("rnu", "--", "x")).toBe(
      'holdfast: usage: "rnu" is not a verb: did you mean run? (holdfast --help lists the verbs, and holdfast VERB --help describes one)\n',
    );
    expect(await said("help", "dif")).toContain("did you mean diff?");
    expect(await said("run", "--detch", "--", "x")).toBe(
      "holdfast: usage: unknown option '--detch': did you mean --detach? (see holdfast run --help)\n",
    );
    expect(await said("usage", "--by", "usr")).toContain(
      "Allowed choices are session, user, agent, model, repo, day.",
    );
  });

  it("holdfast without words prints one screen that begins with the five main verbs", async () => {
    using home = new TestHome();
    const { stdout } = await runCli(home.dir, []);
    const lines = stdout.split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.every(({ length }) => length <= 100)).toBe(true);
    const first = lines.filter((line) => line.startsWith("  holdfast ")).map((line) => line.split(/ +/)[2]);
    expect(first).toEqual(["run", "ls", "attach", "diff", "branch"]);
  });
});
