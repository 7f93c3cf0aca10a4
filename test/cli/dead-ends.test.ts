/**
 * After a refusal a person can go on: nothing is left in the way, and the way out that the message names
 * works.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { HostHome, reaches, script } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

/** Runs a task to its end. */
const run = (home: HostHome, where: readonly string[], does: string) =>
  home.cli("run", ...where, ...wall, "--", "sh", "-c", does);

describe("a new session whose first task is refused", () => {
  it("is removed, so its name can be used again", async () => {
    using home = new HostHome({ "a.txt": "one\n", "holdfast.yaml": "base: origin/nope\n" });
    const place = ["--repo", home.main, "--name", "b4"];
    for (const detach of [[], ["--detach"]]) {
      const { status, stdout, stderr } = await run(home, [...place, ...detach], "true");
      expect([status, stdout, stderr]).toEqual([4, "", expect.stringContaining("base_missing")]);
    }
    commitFiles(home.main, { "holdfast.yaml": "nonsense: 1\n" }, "another mistake");
    expect((await run(home, [...place, "--detach"], "true")).stderr).toContain("config_invalid");
    commitFiles(
      home.main,
      { "holdfast.yaml": "capsule: { setup: exit 3 }\n" },
      "only its process finds this",
    );
    for (let attempt = 1; attempt <= 3; attempt += 1)
      expect((await run(home, place, "true")).stderr).toContain("setup_failed");
    expect(JSON.parse((await home.cli("ls", "--all", "--json")).stdout)).toEqual([]);
    commitFiles(home.main, { "holdfast.yaml": "capsule: {}\n" }, "mended");
    expect(await run(home, place, "true")).toMatchObject({ status: 0 });
    await home.quiet();
  });
});

describe("retry", () => {
  it("is refused while a task runs or waits in the session, and names the verbs that help", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main, name: "k2" }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    await dispatcher.submit(id, script("echo two > a.txt"));
    const waits = await home.cli("retry", "k2");
    expect(waits).toMatchObject({ status: 5, stdout: "" });
    expect(waits.stderr).toMatch(/illegal_transition: a task waits in k2.*wait k2.*queue k2.*cancel/);
    const [waiting] = (await dispatcher.queue(id)).waiting;
    await dispatcher.cancelByName(id, waiting?.request ?? "");
    expect((await home.cli("retry", "k2")).stderr).toContain("a task runs in k2");
    expect((await dispatcher.queue(id)).waiting).toEqual([]);
    await dispatcher.close(id);
    await home.quiet();
  });
});

describe("a hand-off", () => {
  it("can be repeated, is named after the session, and can be ended without its files", async () => {
    using home = new HostHome();
    await run(home, ["--repo", home.main, "--name", "k3"], "echo two > a.txt");
    const first = home.join("main-k3");
    for (const [directory, turns] of [
      [first, "1 turn"],
      [`${first}-2`, "2 turns"],
    ] as const) {
      const { status, stdout } = await home.cli("handoff", "k3", "--person", "ani");
      expect([status, stdout]).toEqual([0, expect.stringContaining(`to ani: ${directory}\n`)]);
      const note = readFileSync(join(directory, "HANDOFF.md"), "utf8");
      expect(note).toMatch(/^# Hand-off of k3\n/);
      for (const part of [`task 1, ${turns}; unverified`, "holdfast handoff k3 --return"])
        expect(note).toContain(part);
      if (directory === first) expect((await home.cli("handoff", "k3", "--return")).status).toBe(0);
    }
    const refused = await run(home, ["--session", "k3"], "true");
    expect([refused.status, refused.stderr]).toEqual([
      5,
      expect.stringMatching(/handoff_open: ani .*holdfast handoff k3 --return/),
    ]);
    rmSync(`${first}-2`, { recursive: true });
    expect((await home.cli("handoff", "k3", "--return")).stderr).toMatch(
      /not there any more.*--to DIR.*holdfast handoff k3 --return --unchanged/,
    );
    expect((await home.cli("handoff", "k3", "--return", "--unchanged")).status).toBe(0);
    const inside = await home.cli("handoff", "k3", "--to", join(home.main, "sub", "mine"));
    expect(inside).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("the checkout of the session"),
    });
    expect(existsSync(join(home.main, "sub"))).toBe(false);
    await home.quiet();
  });

  it("of a session without a repo goes beside the current checkout, or else into the current directory", async () => {
    using home = new HostHome();
    await run(home, ["--no-repo", "--name", "bare"], "echo two > a.txt");
    const [sub, plain] = [join(home.main, "sub"), home.join("plain")];
    for (const dir of [sub, plain]) mkdirSync(dir);
    for (const [here, directory] of [
      [sub, home.join("holdfast-bare")],
      [plain, join(plain, "holdfast-bare")],
    ] as const) {
      const handed = await runCliIn(here, home.dir, ["handoff", "bare"]);
      expect([handed.status, handed.stdout]).toEqual([0, expect.stringContaining(`: ${directory}\n`)]);
      await home.cli("handoff", "bare", "--return");
    }
    await home.quiet();
  });
});
