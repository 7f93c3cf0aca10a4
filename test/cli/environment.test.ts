/**
 * Variables for a task on the command line: where their values come from, and where they must not appear.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseEnvFile } from "../../src/cli/env-file.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { HostHome, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { filesWith, newValue, processesWith } from "../support/values.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const sessionIn = (text: string) => /sess_\w+/.exec(text)?.[0] ?? "";

describe("holdfast run --env", () => {
  it("takes values from settings, a file and the command line, and retry takes them from there again", async () => {
    using home = new HostHome();
    const [own, given] = [newValue("own"), newValue("given")];
    const run = (env: NodeJS.ProcessEnv, ...args: string[]) =>
      runCli(home.dir, ["run", "--repo", home.main, ...wall, ...args], env);
    const show = ["--", "sh", "-c", 'echo "$FIRST|$SECOND|$THIRD|$FOURTH"; env | grep -c FIFTH'];
    const missing = await run({}, "--env", "FIRST", ...show);
    expect(missing).toMatchObject({ status: 5, stdout: "" });
    expect(missing.stderr).toContain("FIRST is not set in this environment");
    const bad = await run({}, "--env", "LD_PRELOAD=/x", ...show);
    expect(bad.stderr).toContain("LD_PRELOAD is reserved");

    writeFileSync(join(home.dir, "settings.yaml"), "env: [FIRST, SECOND, FOURTH]\n");
    const file = home.join("agent.env");
    writeFileSync(file, "# ours\nSECOND=of-the-file\nexport THIRD='of the file'\n");
    const caller = { FIRST: own, SECOND: "callers", FIFTH: "not named" };
    const done = await run(caller, "--env-file", file, "--env", `SECOND=${given}`, ...show);
    const shown = "[redacted:env:FIRST]|[redacted:env:SECOND]|[redacted:env:THIRD]|\n0\n";
    expect(done.stdout).toBe(shown);
    const id = sessionIn(done.stderr);

    const refused = await runCli(home.dir, ["retry", id], caller);
    expect(refused.status).toBe(5);
    expect(refused.stderr).toContain("THIRD is not set in this environment");
    const again = await runCli(home.dir, ["retry", id, "--env-file", file], caller);
    expect(again.stdout).toBe(shown);
    // A variable that only the settings name may be unset: then the task goes without it, in a retry as in a
    // run.
    const without = await runCli(home.dir, ["retry", id, "--env", "THIRD=of hand", "--env", "SECOND=by"], {});
    expect(without.stdout).toBe("|by|of hand|\n0\n");
    expect(refused.stderr).toContain("--env NAME=VALUE, with holdfast run and holdfast retry");
    await home.quiet();
    for (const value of [own, given]) expect(filesWith(home.dir, value)).toEqual([]);
  });

  it("hides a value that was given on the command line from the list of processes", async () => {
    using home = new HostHome();
    const value = newValue();
    const child = home.spawnCli([
      "run",
      ...wall,
      "--env",
      `FIRST=${value}`,
      "--",
      "sh",
      "-c",
      "echo x; sleep 2",
    ]);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    expect(processesWith(value)).toEqual([]);
    child.kill("SIGINT");
    await until(() => child.exitCode !== null || child.signalCode !== null);
    await home.quiet();
  });
});

describe("a value of holdfast run --env", () => {
  it("value-1 is in no file, name or branch in any case, and redacted in the kept output", async () => {
    using home = new HostHome();
    const value = `TeaPot${randomBytes(5).toString("hex")}`;
    const run = (...args: string[]) =>
      runCli(home.dir, ["run", "--repo", home.main, ...wall, "--env", `FIRST=${value}`, ...args]);
    const ids = [];
    for (const args of [
      ["--", "sh", "-c", `true ${value}; echo x > b; echo "$FIRST"`],
      ["--title", `About ${value} now`, "--", "sh", "-c", 'echo x > b; echo "$FIRST"'],
      ["--", "echo", value],
    ])
      ids.push(sessionIn((await run(...args)).stderr));
    await home.quiet();
    const branches = gitIn(home.main, "for-each-ref", "--format=%(refname:short)", "refs/heads/holdfast/");
    expect(branches.split("\n")).toEqual(["holdfast/about-redacted-env-first-now", "holdfast/true"]);
    const paths = readdirSync(home.dir, { recursive: true }).map(String);
    expect(paths.filter((path) => /^names\/\w+\/echo$/.test(path))).toHaveLength(1);
    for (const letters of [value, value.toLowerCase()]) {
      expect(paths.filter((path) => path.includes(letters))).toEqual([]);
      expect(filesWith(home.dir, letters)).toEqual([]);
    }
    for (const id of ids) {
      const kept = home.sessionDir(id, "tasks", "1", "artifacts", "output.txt");
      expect(readFileSync(kept, "utf8")).toBe("[redacted:env:FIRST]\n");
      expect((await runCli(home.dir, ["output", id])).stdout).toBe("[redacted:env:FIRST]\n");
    }
  });

  it("value-1 is redacted from output even if the other stream splits it or it is cut short", async () => {
    using home = new HostHome();
    const value = `marmalade-${randomBytes(5).toString("hex")}`;
    const says = [
      'part() { echo "$FIRST" | cut -c "$1"; }; printf %s "$(part -15)"; sleep 0.3; echo between >&2; sleep 0.3',
      'part 16-; printf "end marm"; sleep 0.3; printf " %s" "$(part -10)" >&2',
    ].join("; ");
    const args = ["run", "--repo", home.main, ...wall, "--env", "FIRST", "--json", "--", "sh", "-c", says];
    const run = await runCli(home.dir, args, { FIRST: value });
    const id = sessionIn(run.stdout);
    await home.quiet();
    const kept = readFileSync(home.sessionDir(id, "tasks", "1", "artifacts", "output.txt"), "utf8");
    expect(kept).toBe("between\n[redacted:env:FIRST]\nend  marm");
    const dispatcher = await home.dispatcher();
    const records = await Array.fromAsync(dispatcher.holdfast.readJournal(id));
    const returned = records.find(({ type }) => type === "tool_returned");
    expect(returned?.data["output"]).toMatchObject({ output: kept });
    for (const part of [value.slice(0, 9), value.slice(-8)]) expect(filesWith(home.dir, part)).toEqual([]);
  });

  it("is redacted when it is also in a file that --dirty takes along, and that work is not published", async () => {
    using home = new HostHome();
    const value = newValue();
    const file = join(home.main, "agent.env");
    writeFileSync(file, `FIRST='${value}'\n`);
    const run = (text: string) =>
      runCli(home.dir, [
        ...["run", "--repo", home.main, ...wall, "--dirty", "--env-file", file],
        ...["--", "sh", "-c", text],
      ]);
    const looked = await run("cat agent.env");
    expect(looked).toMatchObject({ status: 0, stdout: "FIRST='[redacted:env:FIRST]'\n" });
    const worked = await run("echo x > b");
    expect(worked.stderr).toContain("the value of FIRST is in agent.env");
    await home.quiet();
    expect(gitIn(home.main, "for-each-ref", "refs/heads/holdfast/")).toBe("");
    expect(filesWith(join(home.dir, "sessions"), value)).toEqual([]);
  });
});

describe("holdfast export", () => {
  it("warns once that files of the session may have values, and only if the session had any", async () => {
    using home = new HostHome();
    const exportOf = async (file: string, ...args: string[]) => {
      const script = ["--", "sh", "-c", 'echo "$FIRST" > b'];
      const run = await runCli(home.dir, ["run", "--repo", home.main, ...wall, ...args, ...script]);
      await home.quiet();
      const words = ["export", sessionIn(run.stderr), "--json", "-o", home.join(file)];
      const { stdout, stderr } = await runCli(home.dir, words);
      return {
        hadValues: JSON.parse(stdout).hadValues,
        notes: stderr.split("had values of yours").length - 1,
      };
    };
    expect(await exportOf("with", "--env", `FIRST=${newValue()}`)).toEqual({ hadValues: true, notes: 1 });
    expect(await exportOf("without")).toEqual({ hadValues: false, notes: 0 });
  });
});

describe("a value that the command itself assigns", () => {
  it("redaction-1 is in no file when the task is over, even if it has spaces", async () => {
    using home = new HostHome();
    const words = ["env", "GITHUB_TOKEN=first-word 9914 last-word", "true"];
    const run = await runCli(home.dir, ["run", "--repo", home.main, ...wall, "--", ...words]);
    expect(run.status).toBe(0);
    await home.quiet();
    for (const part of ["first-word", "9914 last", "last-word"])
      expect(filesWith(home.dir, part)).toEqual([]);
  });
});

describe("a file of variables", () => {
  it("is parsed with comments, quotes, escapes, export and names without a value", () => {
    const text = [
      "\uFEFF# a comment",
      "",
      "A=plain # a comment",
      "export B = ",
      "C='single # quoted' # more",
      'D="double \\"quoted\\"\\nline\\\\"',
      "E",
      "F=#fff",
      "  G=a=b  ",
      "H='",
    ];
    expect(() => parseEnvFile(text.join("\n"), "f")).toThrow("f:10: the quotes are not closed");
    expect(parseEnvFile(text.slice(0, -1).join("\r\n"), "f")).toEqual([
      { name: "A", value: "plain" },
      { name: "B", value: "" },
      { name: "C", value: "single # quoted" },
      { name: "D", value: 'double "quoted"\nline\\' },
      { name: "E", value: undefined },
      { name: "F", value: "#fff" },
      { name: "G", value: "a=b" },
    ]);
  });

  it("is refused with the number of the bad line, and never with its text", () => {
    for (const line of ["hush hush", "sk-hush", "=hush", "PATH=hush", 'A="hush" hush', "1A=hush"]) {
      const said = (() => {
        try {
          return JSON.stringify(parseEnvFile(`\n${line}`, "f"));
        } catch (error) {
          return String(error);
        }
      })();
      expect(said).toMatch(/f:2: /);
      expect(said).not.toContain("hush");
    }
  });
});
