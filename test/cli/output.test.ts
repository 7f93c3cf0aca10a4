/**
 * The output of a task: kept whole, and without secrets.
 */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { redactSecrets } from "../../src/redaction/index.ts";
import { keepOutput } from "../../src/task/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const TOKEN = `ghp_${"aB3".repeat(12)}`;
/** The token in a script, put together when that runs: a command with a secret in it is not started again. */
const SAID = `\${p}${"aB3".repeat(12)}`;
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";
const artifact = (home: HostHome | TaskHome, id: string, task = 1) =>
  home.sessionDir(id, "tasks", String(task), "artifacts", "output.txt");
const spools = (home: HostHome, id: string) =>
  readdirSync(home.sessionDir(id, "log")).filter((name) => name.endsWith(".out"));

describe("holdfast output", () => {
  it("redaction-3 prints all that a task wrote on both streams, byte for byte except for secrets", async () => {
    using home = new HostHome();
    const lines = "seq -f 'line %07.0f of a long output' 1 90000";
    const dirty = `p=ghp_; echo "token ${SAID}"; ${lines}; sleep 0.5; echo "again ${SAID}" >&2; sleep 0.5; printf 'caf\\303\\251 \\377\\n'`;
    const run = await home.cli("run", ...wall, "--repo", home.main, "--", "sh", "-c", dirty);
    const id = idIn(run.stderr);
    await home.cli("run", ...wall, "--session", id, "--", "sh", "-c", "echo second");
    const kept = readFileSync(artifact(home, id), "latin1");
    expect(kept).not.toContain(TOKEN);
    const numbered = Array.from(
      { length: 90_000 },
      (_, n) => `line ${String(n + 1).padStart(7, "0")} of a long output\n`,
    ).join("");
    expect(kept.length).toBeGreaterThan(2_700_000);
    expect(kept === `token [redacted:github]\n${numbered}again [redacted:github]\ncaf\xc3\xa9 \xff\n`).toBe(
      true,
    );
    const first = await home.cli("output", `${id}/1`);
    expect(first.status).toBe(0);
    expect(first.stdout === Buffer.from(kept, "latin1").toString()).toBe(true);
    expect(await home.cli("output", id)).toMatchObject({ status: 0, stdout: "second\n", stderr: "" });
    const lined = (await home.cli("output", id, "--json")).stdout.trim().split("\n");
    expect(lined.map((line) => JSON.parse(line))).toEqual([{ session: id, task: 2, text: "second\n" }]);
    expect(await home.cli("output", `${id}/3`)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("tasks 1 to 2"),
    });
    expect(await home.cli("output", `${id}/x`)).toMatchObject({ status: 2 });
    expect((await home.cli("audit", id)).status).toBe(0);
    // No copy of the output with its secrets is left.
    await home.quiet();
    expect(spools(home, id)).toEqual([]);

    rmSync(artifact(home, id));
    const excerpt = await home.cli("output", `${id}/1`);
    expect(excerpt.stderr).toContain(`the whole output of ${home.labelOf(id)}/1 was not kept`);
    expect(excerpt.stdout).toMatch(
      /^token \[redacted:github\]\nline 0000001[\s\S]+\[… \d+ bytes …\][\s\S]+ 0090000 /,
    );
  });

  it("redaction-3 keeps as much as output_mb allows, says how much is missing, and cuts no secret in two", async () => {
    using home = new HostHome({ "holdfast.yaml": "output_mb: 0.5\n" });
    const many = `p=ghp_; i=0; while [ $i -lt 14000 ]; do echo "$i ${SAID}"; i=$((i+1)); done`;
    const run = (...args: string[]) =>
      home.cli("run", ...wall, "--repo", home.main, ...args, "--", "sh", "-c", many);
    const ofRepo = idIn((await run()).stderr);
    const output = await home.cli("output", ofRepo);
    expect(output.stdout).toMatch(
      /^(\d+ \[redacted:github\]\n)+\d+ \[redacted:github\]\n\[\d+ bytes more were not kept: output_mb is 0\.5\]\n$/,
    );
    expect(output.stderr).toContain("not all of the output was kept");
    // Kept and missing bytes add up to what was written, and as much was kept as is allowed.
    const [, left = ""] = /(\d+) bytes more/.exec(output.stdout) ?? [];
    const raw = output.stdout.replace(/\n\[\d+ bytes.*\n$/, "").replaceAll("[redacted:github]", TOKEN);
    const all = Array.from({ length: 14_000 }, (_, n) => `${n} ${TOKEN}\n`).join("");
    expect(raw.length + Number(left)).toBe(all.length);
    expect(all.startsWith(raw)).toBe(true);
    expect(raw.length).toBeGreaterThan(500_000);

    writeFileSync(join(home.dir, "settings.yaml"), "output_mb: 0.1\n");
    const capped = await home.cli("output", idIn((await run()).stderr));
    expect(capped.stdout).toMatch(/not kept: output_mb is 0\.1\]\n$/);
    expect(capped.stdout.length).toBeLessThan(200_000);
  });

  it("prints what a running task has written so far, and -f follows it until the task is over", async () => {
    using home = new HostHome();
    const wait = "echo begun; while [ ! -e stop ]; do sleep 0.05; done; echo over";
    const detached = await home.cli("run", "-d", ...wall, "--repo", home.main, "--", "sh", "-c", wait);
    const id = home.idOf(detached.stdout.trim());
    const follower = home.spawnCli(["output", id, "-f"]);
    let followed = "";
    follower.stdout.on("data", (chunk) => {
      followed += chunk;
    });
    await until(
      () => followed,
      (text) => text.includes("begun"),
    );
    expect(await home.cli("output", id)).toMatchObject({
      status: 0,
      stdout: "begun\n",
      stderr: `${home.labelOf(id)}/1 is still running\n`,
    });
    const ended = once(follower, "exit");
    const dispatcher = await home.dispatcher();
    await dispatcher.interrupt(id);
    expect(await ended).toEqual([0, null]);
    expect(followed).toBe("begun\n");
    expect(await home.cli("output", id, "-f")).toMatchObject({ stdout: "begun\n", stderr: "" });
  });

  it("output-1 keeps what was written before a kill; a command that is started again adds to it, once", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const loop = `p=ghp_; echo run >> runs; echo "run $(wc -l < runs) ${SAID}"; [ $(wc -l < runs) -ge 3 ] && exit 0; sleep 60`;
    const { id } = await dispatcher.begin({ repo: home.main }, script(loop, { restart: true }));
    const wrote = (count: number) =>
      until(
        () => spools(home, id).map((name) => readFileSync(home.sessionDir(id, "log", name), "latin1")),
        (texts) => texts.join("").includes(`run ${count} `),
      );
    await wrote(1);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await dispatcher.resume(id);
    await wrote(2);
    expect(readFileSync(artifact(home, id), "utf8")).toBe("run 1 [redacted:github]\n");
    expect((await home.cli("output", id)).stdout).toBe(`run 1 [redacted:github]\nrun 2 ${TOKEN}\n`);
    await dispatcher.pause(id);
    await dispatcher.resume(id);
    await until(
      () => typesOf(dispatcher, id),
      (types) => types.includes("task_ended"),
    );
    const whole = "run 1 [redacted:github]\nrun 2 [redacted:github]\nrun 3 [redacted:github]\n";
    expect((await home.cli("output", id)).stdout).toBe(whole);
    expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
  });
});

describe("keeping the output", () => {
  it("output-1 keeps each part once, even if it is done again after a kill", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const room = { session, sessionDir: home.sessionDir(session.id), disk: realDisk, redact: redactSecrets };
    const keep = (text: string) => keepOutput(room, 1, { chunks: [Buffer.from(text)], cut: () => undefined });
    await turn(task, "true");
    await keep("one\n");
    // Killed after the record, before the spool was emptied.
    await keep("one\n");
    await turn(task, "true");
    // Killed between the renaming and the record.
    writeFileSync(artifact(home, session.id), "one\ntwo\n");
    await keep("two\n");
    expect(readFileSync(artifact(home, session.id), "utf8")).toBe("one\ntwo\n");
    await task.end("done");
    await session.pause();
    expect(existsSync(artifact(home, session.id))).toBe(true);
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
  });
});
