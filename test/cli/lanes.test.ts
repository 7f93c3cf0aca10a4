/**
 * Lanes and trust, as a user meets them: the verbs, the flags, and the question on a terminal.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { runCliIn } from "../support/cli-in.ts";
import { HostHome } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

const files = {
  "a.txt": "one\n",
  ".gitignore": ".env\n",
  "holdfast.yaml": `lane: deps
lanes:
  deps: { hosts: [registry.example.org] }
  look: { write: [], read: [read_file] }
  free: { approval: [], external: [git_push] }
capsule: { include: [.env] }
`,
};

function laneHome(): HostHome {
  const home = new HostHome(files);
  writeFileSync(join(home.main, ".env"), "secret\n");
  return home;
}

const inRepo = (home: HostHome, ...args: string[]) => runCliIn(home.main, home.dir, args);
const run = (home: HostHome, ...args: string[]) => inRepo(home, "run", ...wall, ...args);

describe("lanes and trust on the command line", () => {
  it("lanes explains each lane and what is not accepted; trust accepts it, lists it and forgets it", async () => {
    using home = laneHome();
    expect((await inRepo(home, "lanes")).stderr).toMatch(/^holdfast: home_not_found: /);
    await inRepo(home, "trust");
    const before = await inRepo(home, "lanes");
    expect(before).toMatchObject({ status: 0, stderr: "" });
    expect(before.stdout).toMatch(
      /^read-only\n.*\n {2}writes +nothing but its HOME and TMPDIR\n {2}reaches +no host$/m,
    );
    expect(before.stdout).toMatch(
      /^repo-fix\n.*\n {2}writes +in its capsule, its HOME and TMPDIR\n {2}reaches +no host$/m,
    );
    expect(before.stdout).toMatch(/^online\n(?:.*\n){2} {2}reaches +any public host$/m);
    expect(before.stdout).toMatch(
      /^deps {2}the default\n(?:.*\n){2} {2}reaches +no host\n(?:.*\n) {2}not yet +lanes\.deps\.hosts: registry\.example\.org \(not accepted\)\n {2}not yet +lane: deps \(not accepted\)$/m,
    );
    expect(before.stdout).toMatch(
      /^look\n.*\n {2}writes +nothing but .*\n(?:.*\n){2} {2}tools +read read_file$/m,
    );
    expect(before.stdout).toMatch(/^free\n(?:.*\n){3} {2}asks +you before it uses external tools$/m);
    expect(JSON.parse((await inRepo(home, "lanes", "--json")).stdout)).toMatchObject({
      default: "deps",
      lanes: [
        { name: "read-only", isReadOnly: true, isShipped: true },
        {},
        {},
        { name: "deps", hosts: [] },
        {},
        {},
      ],
      notAccepted: [
        { key: "capsule.include" },
        { key: "lanes.deps.hosts" },
        { key: "lanes.free.approval" },
        { key: "lane" },
      ],
    });

    // Without a terminal there is no answer: the request is shown, and nothing changes.
    const shown = await inRepo(home, "trust");
    expect(shown).toMatchObject({ status: 3, stdout: "" });
    expect(shown.stderr).toContain("  capsule.include: .env");
    expect(shown.stderr).toMatch(
      /^ {2}lanes\.free\.approval: \[\] +tasks in lane free use external tools without asking you: git_push$/m,
    );
    expect(await inRepo(home, "trust", "--list")).toMatchObject({ status: 0, stdout: "" });
    const accepted = await inRepo(home, "trust", "--yes", "--json");
    expect(JSON.parse(accepted.stdout)).toMatchObject({ isAccepted: true, open: [{}, {}, {}, {}] });
    expect((await inRepo(home, "trust")).stdout).toMatch(
      /^everything is accepted: capsule\.include: \.env, /,
    );
    expect((await inRepo(home, "trust", "--list")).stdout).toMatch(
      /^[0-9a-f]{12} .*Z\n {2}capsule\.include: \.env\n/,
    );
    expect((await inRepo(home, "lanes")).stdout).toMatch(
      /^deps {2}the default\n(?:.*\n){2} {2}reaches +registry\.example\.org$/m,
    );

    // Only what is new is shown, and --dirty looks at the checkout's own file.
    const more = files["holdfast.yaml"].replace("[.env]", '[.env, "certs/\\u202egnp"]');
    writeFileSync(join(home.main, "holdfast.yaml"), more);
    const isNew = await inRepo(home, "trust", "--dirty");
    expect(isNew).toMatchObject({
      status: 3,
      stderr: expect.stringContaining("more than you have accepted:\n"),
    });
    expect(isNew.stderr).toMatch(
      /accepted:\n {2}capsule\.include: certs\/\\u\{202e\}gnp +every task gets a copy.*\nnot accepted/,
    );
    expect((await inRepo(home, "trust")).stdout).toMatch(/^everything is accepted/);

    expect((await inRepo(home, "trust", "--forget")).stdout).toMatch(/^1 acceptance withdrawn/);
    expect((await inRepo(home, "trust")).status).toBe(3);
    gitIn(home.main, "checkout", "-q", "holdfast.yaml");
    commitFiles(home.main, { "holdfast.yaml": "capsule: { setup: 'true' }\n" }, "asks for nothing");
    expect(await inRepo(home, "trust")).toMatchObject({
      status: 0,
      stdout: "holdfast.yaml asks for nothing that has to be accepted\n",
    });
    for (const args of [
      ["--yes", "--list"],
      ["--base", "no-such"],
    ])
      expect((await inRepo(home, "trust", ...args)).status, args.join(" ")).not.toBe(0);
  });

  it("run names lane, hosts and what is not accepted; ls, show, log and the commit name the lane", async () => {
    using home = laneHome();
    const first = await run(home, "--name", "one", "--", "sh", "-c", "cat .env; echo two >> a.txt");
    expect(first).toMatchObject({ status: 0, stdout: "" });
    expect(first.stderr).toMatch(
      /^\[router\] .* lane=deps\n\[trust\] {3}holdfast\.yaml asks for more, which you have not accepted: capsule\.include: \.env, lanes\.deps\.hosts: registry\.example\.org, lane: deps; to see and accept it: holdfast trust$/m,
    );
    expect(gitIn(home.main, "show", "-s", "--format=%B", "holdfast/one")).toMatch(
      /\nTask: 1\nLane: deps(\nSandbox: none)?$/,
    );
    await inRepo(home, "trust", "--yes");
    const online = await run(
      home,
      "--session",
      "one",
      "--lane",
      "online",
      "--host",
      "X.example.org:8080",
      "--json",
      "--",
      "cat",
      ".env",
    );
    const lines = online.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.find(({ stage }) => stage === "router")).toMatchObject({
      lane: "online",
      hosts: ["*", "x.example.org:8080"],
    });
    expect(lines.find(({ stage }) => stage === "output")).toMatchObject({ text: "secret\n" });
    expect(lines.map(({ stage }) => stage)).not.toContain("trust");
    expect((await inRepo(home, "ls")).stdout).toMatch(/^one +done +main +holdfast\/one +online /m);
    expect((await inRepo(home, "show", "one")).stdout).toMatch(
      /^lane +online: writes in its capsule, reaches any public host, x\.example\.org:8080$/m,
    );
    expect((await inRepo(home, "log", "one")).stdout).toMatch(/ task 2, lane online /);
    const next = await run(home, "--session", "one", "--", "true");
    expect(next.stderr).toMatch(/^\[router\] .* lane=deps hosts=registry\.example\.org$/m);
  });

  it("an unknown lane or an invalid host is refused before a session or a task is made", async () => {
    using home = laneHome();
    const refused = await run(home, "--lane", "depths", "--", "true");
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /^holdfast: unknown_lane: there is no lane depths: the lanes are read-only, repo-fix, online, deps, free, look \(holdfast lanes /,
    );
    for (const lane of ["No Lane", "../x"])
      expect((await run(home, "--lane", lane, "--", "true")).stderr, lane).toContain(
        "is not a name for a lane",
      );
    expect((await run(home, "--host", "127.1", "--", "true")).stderr).toMatch(
      /^holdfast: usage: .*'127\.1' is invalid. it must be a name/,
    );
    expect(JSON.parse((await inRepo(home, "ls", "--all", "--json")).stdout)).toEqual([]);
    await run(home, "--name", "one", "--", "true");
    const inSession = await run(home, "--session", "one", "--lane", "depths", "--", "true");
    expect(inSession).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^holdfast: unknown_lane: /),
    });
    // The lanes are those of the commit that the task would begin with, not those of HEAD.
    commitFiles(home.main, { "holdfast.yaml": "lanes: { depths: {} }\n" }, "depths");
    expect(
      (await run(home, "--session", "one", "--base", "HEAD~1", "--lane", "depths", "--", "true")).status,
    ).toBe(2);
    expect(
      (await run(home, "--session", "one", "--base", "HEAD", "--lane", "depths", "--", "true")).status,
    ).toBe(0);
    expect(JSON.parse((await inRepo(home, "show", "one", "--json")).stdout)).toMatchObject({
      queue: 0,
      task: { number: 2, lane: { name: "depths" } },
    });
  });
});

describe.skipIf(!hasScript)("the trust question at a terminal", () => {
  it("shows what holdfast.yaml asks for; no is remembered, and yes counts at once", async () => {
    using home = laneHome();
    const see = ["run", ...wall, "--", "sh", "-c", "cat .env; echo ran"];
    {
      await using terminal = new Terminal(home, see);
      await terminal.shows("accept it, for this repo on this machine? [y/N]");
      expect(terminal.screen).toMatch(
        /capsule\.include: \.env +every task gets a copy of this file from your checkout/,
      );
      expect(terminal.screen).toMatch(/lane: deps +tasks get this lane/);
      terminal.type("n\n");
      await terminal.ended;
      expect(terminal.screen).toMatch(/\[trust\] [\s\S]*ran/);
      expect(terminal.screen).not.toContain("secret");
    }
    {
      // It was answered with no, so it is not asked again.
      await using terminal = new Terminal(home, see);
      await terminal.ended;
      expect(terminal.screen).not.toContain("[y/N]");
      expect(terminal.screen).toMatch(/\[trust\] [\s\S]*ran/);
    }
    {
      await using terminal = new Terminal(home, ["trust"]);
      await terminal.shows("[y/N]");
      terminal.type("y\n");
      await terminal.shows("accepted, from the next task on");
    }
    commitFiles(home.main, { "holdfast.yaml": "capsule: { include: [.env, a.txt] }\n" }, "more");
    {
      await using terminal = new Terminal(home, see);
      await terminal.shows("[y/N]");
      expect(terminal.screen).toMatch(/more than you have accepted:\s+capsule\.include: a\.txt /);
      expect(terminal.screen).not.toContain("capsule.include: .env");
      terminal.type("yes\n");
      await terminal.ended;
      expect(terminal.screen).toMatch(/secret\s+ran/);
      expect(terminal.screen).not.toContain("[trust]");
    }
  });

  it("is not asked by a run in the background, which ends without being stopped", async () => {
    using home = laneHome();
    const script = `set -m; ${process.execPath} ${cliPath} run ${wall.join(" ")} -- echo ran & wait; echo over`;
    await using shell = new Terminal(home, ["-c", script], "/bin/sh");
    await shell.shows(/\[trust\] [\s\S]*ran[\s\S]*over/);
    expect(shell.screen).not.toContain("[y/N]");
  });
});
