import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verbs } from "../../src/cli/verbs.ts";
import { TestChild } from "../support/children.ts";
import { type CliResult, runCli } from "../support/cli.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

describe("the command line", () => {
  const on =
    (home: TestHome) =>
    async (...args: string[]): Promise<CliResult> =>
      runCli(home.dir, args);
  const ok = (result: CliResult) => {
    expect(result).toMatchObject({ status: 0, stderr: "" });
    return result.stdout.trim();
  };

  it("takes a session through its life, verb by verb", async () => {
    using home = new TestHome();
    const hf = on(home);
    const id = ok(await hf("new", "--title", "fix the login", "--agent", "fix-bot", "--budget-usd", "5"));
    expect(id).toBe("fix-the-login");
    const whole = home.idOf(id);
    expect(ok(await hf("ls"))).toMatch(
      /fix-the-login\s+new\s+no repo\s+-\s+-\s+-\s+-\s+\d+ s\s+fix the login/,
    );
    expect(ok(await hf("show", id))).toContain("budget    5 usd");
    expect(ok(await hf("pause", id))).toBe(`${id} paused`);
    expect(ok(await hf("resume", id))).toBe(`${id} resumed at turn 0`);
    expect(ok(await hf("close", whole.slice("sess_".length, -3)))).toBe(`${id} closed`);
    expect(await hf("ls")).toMatchObject({
      status: 0,
      stdout: "",
      stderr: "all sessions are closed; holdfast ls --all lists them\n",
    });
    expect(ok(await hf("ls", "--all"))).toContain("closed");
    expect(ok(await hf("archive", id))).toBe(`${id} archived`);
    expect(ok(await hf("log", id))).toMatch(/archived$/m);
    expect(ok(await hf("resume", id))).toContain("resumed");
    const fork = ok(await hf("fork", id, "--at", "0", "--title", "again"));
    expect(ok(await hf("show", fork))).toContain(`fork of   ${whole} at turn 0`);
    expect(ok(await hf("audit", fork))).toMatch(/: whole$/);
    expect(ok(await hf("doctor"))).toContain("2, of which 0 damaged");
    expect(ok(await hf("gc", "--dry-run"))).toBe("nothing to do");
    expect(ok(await hf("usage", "--by", "agent"))).toMatch(/fix-bot\s+2\s+0/);
    const file = home.join("out.holdfast");
    expect(ok(await hf("export", id, "-o", file))).toContain(file);
    using other = new TestHome();
    expect(ok(await on(other)("import", file))).toBe(`${id} imported, paused`);
    expect(ok(await on(other)("resume", id))).toContain("resumed");
  });

  it("prints one JSON document with --json, or one line for each record", async () => {
    using home = new TestHome();
    const hf = on(home);
    const id = await sessionWithTurns(await home.open(), 2, { title: "two turns" });
    const json = async (...args: string[]) => JSON.parse(ok(await hf(...args, "--json")));
    expect(await json("ls")).toMatchObject([{ id, status: "paused", turns: 2 }]);
    expect(await json("show", id)).toMatchObject({ id, title: "two turns", spent: { turns: 2, usd: 0.02 } });
    const lines = ok(await hf("log", id, "--json"))
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(ok(await hf("log", id, "--from", "12", "--json")).split("\n")).toHaveLength(1);
    expect(await json("search", "answer", "2")).toMatchObject([
      { session: id, turn: 2, snippet: "answer 2" },
    ]);
    expect(await json("usage", "--by", "user")).toMatchObject([{ sessions: 1, turns: 2, tokens: 220 }]);
    expect(await json("audit", id)).toMatchObject({ records: 12, findings: [] });
    expect(await json("gc")).toEqual({ freedBytes: 0, done: [], left: [] });
    expect(await json("fork", id, "--at", "1")).toMatchObject({ turns: 1, parent: { id } });
    expect((await json("doctor")).map(({ level }: { level: string }) => level)).not.toContain("bad");
    for (const verb of ["resume", "pause", "close", "archive"])
      expect(await json(verb, id)).toMatchObject({ id });
    expect(await json("new")).toMatchObject({ status: "open" });
    expect(await json("export", id, "-o", home.join("e"))).toMatchObject({ session: id, kind: "export" });
  });

  it("every verb has help with examples, and the overview names every verb", async () => {
    using home = new TestHome();
    const overview = ok(await on(home)("--help"));
    const full = ok(await on(home)("help"));
    await Promise.all(
      verbs.map(async ({ name, summary }) => {
        expect(overview).toMatch(new RegExp(`\\b${name}\\b`));
        expect(full).toContain(summary);
        const help = ok(await on(home)(name, "--help"));
        expect(help, name).toMatch(/Examples:\n {2}(eval "\$\()?holdfast/);
        expect(help, name).toContain("--json");
      }),
    );
    expect(ok(await on(home)("help", "fork"))).toContain("--at <turn>");
    expect(ok(await on(home)("--version"))).toMatch(/^\d+\.\d+\.\d+$/);
    expect(ok(await on(home)())).toBe(overview);
  });

  it("reports an error in one line with its code and a way out, and exits with the code's status", async () => {
    using home = new TestHome();
    const hf = on(home);
    const session = await (await home.open()).openSession({ budget: { turns: 1 } });
    await (await session.beginTurn("x")).end();
    await session.release();
    const { id } = session;
    const closed = await (await home.open()).openSession({});
    await closed.close();
    const cases: [number, string, string[]][] = [
      [2, "usage", ["nonsense"]],
      [2, "usage", ["ls", "--nonsense"]],
      [2, "usage", ["show"]],
      [2, "usage", ["show", "a", "b"]],
      [2, "usage", ["fork", id, "--at", "minus"]],
      [2, "usage", ["new", "--budget-usd", "-5"]],
      [2, "usage", ["usage", "--by", "moon"]],
      [2, "usage", ["completion", "tcsh"]],
      [2, "invalid_id", ["audit", "../../etc"]],
      [2, "usage", ["show", "../../etc"]],
      [2, "invalid_data", ["new", "--user", "../x"]],
      [2, "invalid_data", ["new", "--title", "x".repeat(501)]],
      [2, "export_invalid", ["import", "/nowhere"]],
      [4, "session_not_found", ["show", "7zz"]],
      [4, "session_not_found", ["show", id, "--user", "bo"]],
      [4, "turn_not_found", ["fork", id, "--at", "9"]],
      [5, "illegal_transition", ["pause", closed.id]],
      [5, "home_unreadable", ["ls", "--home", "/dev/null"]],
      [4, "home_not_found", ["ls", "--home", "/nowhere/at/all"]],
      [2, "usage", ["ls", "--home", ""]],
      [2, "usage", ["gc", "--user", "bo"]],
      [2, "usage", ["help", "nonsense"]],
      [2, "invalid_data", ["search", "x", "--limit", "0"]],
      [5, "file_unwritable", ["export", id, "-o", "/nowhere/at/all"]],
      [7, "budget_reached", ["resume", id]],
    ];
    // pause and resume own the session for a moment, so they must not run at the same time.
    const isOwner = ([, , [verb]]: (typeof cases)[number]) => verb === "pause" || verb === "resume";
    const check = async ([status, code, args]: (typeof cases)[number]) => {
      const result = await hf(...args);
      expect(result.stderr, args.join(" ")).toMatch(new RegExp(`^holdfast: ${code}: .+ \\(.+\\)\\n$`));
      expect(result, args.join(" ")).toMatchObject({ status, stdout: "" });
    };
    await Promise.all(cases.filter((one) => !isOwner(one)).map(check));
    for (const one of cases.filter(isOwner)) await check(one);
    expect(ok(await hf("resume", id, "--budget-turns", "5"))).toContain("resumed");
  });

  it("damage: audit and doctor exit with 6, log shows the good records, and doctor --repair forks them", async () => {
    using home = new TestHome();
    const hf = on(home);
    const id = await sessionWithTurns(await home.open(), 2);
    const path = home.sessionDir(id, "journal/000001.jsonl");
    const content = readFileSync(path);
    content[content.indexOf("answer 2")] = 0x41;
    writeFileSync(path, content);
    expect(await hf("audit", id)).toMatchObject({
      status: 6,
      stdout: expect.stringMatching(/damaged {2}journal\/000001.jsonl at byte \d+, seq 10:/),
    });
    expect(await hf("doctor")).toMatchObject({ status: 6 });
    const log = await hf("log", id);
    expect(log.status).toBe(6);
    expect(log.stdout).toContain("content 2");
    expect(log.stderr).toMatch(/^holdfast: session_damaged: /);
    const repaired = await hf("doctor", "--repair", id);
    expect(repaired).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^sess_\w+ is a fork with the 9 good records/),
    });
  });

  it("refuses a session that another process owns and names that process; --take-over ends it", async () => {
    using home = new TestHome();
    const id = await sessionWithTurns(await home.open(), 1);
    await using owner = new TestChild("owner.ts", [home.dir, id]);
    await owner.line((line) => line.startsWith("owner"));
    const refused = await on(home)("resume", id);
    expect(refused).toMatchObject({ status: 5, stderr: expect.stringContaining(`process ${owner.pid}`) });
    expect(ok(await on(home)("ls"))).toContain("working");
    expect(ok(await on(home)("show", id))).toContain(`process ${owner.pid}`);
    expect(ok(await on(home)("resume", id, "--take-over"))).toContain("resumed");
    await owner.ended();
    expect(owner.process.signalCode).toBe("SIGKILL");
  });

  it("hostile text in a session or an argument can't move the cursor, not even in an error", async () => {
    using home = new TestHome();
    const hf = on(home);
    const evil = "\u001b[2J\u001b]0;owned\u0007\u009b31m\rfake\u202egnp.exe\u0008";
    const api = await home.open();
    const session = await api.openSession({ title: evil, agent: evil, repo: evil });
    const turn = await session.beginTurn(`needle ${evil}`, { by: evil });
    const call = await turn.callTool(evil, { [evil]: evil }, { call: evil });
    await call.returned(evil);
    await turn.addMessage("assistant", evil);
    await turn.end();
    await session.append("custom", { name: evil, more: evil });
    const second = await session.beginTurn("ask");
    await session.append("question_asked", { question: evil, text: evil });
    await second.end();
    await session.release();
    const outputs = await Promise.all([
      hf("ls", "--all"),
      hf("show", session.id),
      hf("log", session.id),
      hf("log", session.id, "--full"),
      hf("search", "needle"),
      ...["ls", "show", "log"].map((verb) => hf(verb, ...(verb === "ls" ? [] : [session.id]), "--json")),
      hf("search", "needle", "--json"),
      hf("usage", "--by", "agent"),
      hf("usage", "--by", "repo"),
      hf("show", evil),
      hf(evil),
      hf("import", evil),
      hf("ls", "--home", `/dev/null/${evil}`),
      hf("fork", session.id, "--at", evil),
    ]);
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(outputs[2]?.stdout).toContain("\\u{1b}[2J");
  });

  it("log groups what happened by turn, and log --raw has one line for each record", async () => {
    using home = new TestHome();
    const id = await sessionWithTurns(await home.open(), 1, { title: "two words" });
    const told = ok(await on(home)("log", id)).split("\n");
    expect(told[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}session two-words {2}two words$/);
    expect(told.slice(1, 6)).toEqual([
      "turn 1 input 1",
      '  read_file {"path":"file-1"}',
      "  → content 1",
      "  assistant answer 1",
      "  completed, after 0 s, 110 tokens, $0.01",
    ]);
    const lines = ok(await on(home)("log", "--raw", id))
      .split("\n")
      .map((line) => line.replace(/^#\d+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}/, ""));
    expect(lines.slice(1, 6)).toEqual([
      "t1   input       input 1",
      't1   call        read_file {"path":"file-1"}',
      "t1   ok          content 1",
      "t1   assistant   answer 1",
      't1   end         completed {"inputTokens":100,"outputTokens":10,"usd":0.01}',
    ]);
  });

  it("log -f prints records as they are appended, and ends with Ctrl-C", async () => {
    using home = new TestHome();
    const api = await home.open();
    const session = await api.openSession();
    const { spawn } = await import("node:child_process");
    const { cliPath } = await import("../support/cli.ts");
    const child = spawn(process.execPath, [cliPath, "log", "-f", session.id, "--json"], {
      env: { ...process.env, HOLDFAST_HOME: home.dir },
    });
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    const until = async (text: string) => {
      for (let wait = 0; !output.includes(text); wait += 1) {
        expect(wait, `never saw ${text}`).toBeLessThan(500);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await until("session_opened");
    await session.append("custom", { name: "later" });
    await until("later");
    child.kill("SIGINT");
    await new Promise((resolve) => child.on("close", resolve));
    expect(child.exitCode).toBe(0);
    await session.release();
  });

  it("exits with 0 if the reader of its output closes the pipe early", async () => {
    using home = new TestHome();
    const id = await sessionWithTurns(await home.open(), 200);
    const { spawnSync } = await import("node:child_process");
    const { cliPath } = await import("../support/cli.ts");
    const { status, stdout, stderr } = spawnSync(
      "bash",
      ["-c", `set -o pipefail; '${process.execPath}' '${cliPath}' log --raw ${id} | head -1`],
      {
        env: { ...process.env, HOLDFAST_HOME: home.dir },
        encoding: "utf8",
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("session_opened");
  });

  it("completion scripts are valid in those of their shells that are installed", async () => {
    using home = new TestHome();
    const { spawnSync } = await import("node:child_process");
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = ok(await on(home)("completion", shell));
      expect(script).toContain("holdfast __complete");
      const { status, error } = spawnSync(shell, ["-n"], { input: script });
      if (!error) expect(status, shell).toBe(0);
    }
  });
});
