/**
 * Anything that is swapped while a person decides makes another action or is refused by the worker, and nothing
 * runs that was planted where git or a tool might pick it up.
 */
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fingerprintOf } from "../../src/approval/index.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { gitIn } from "../support/repo.ts";
import { turn } from "../support/tasks.ts";

function withRemote(home: ActingHome, name = "bare.git"): string {
  const bare = besideHome(home, name);
  gitIn(home.main, "clone", "-q", "--bare", home.main, bare);
  return bare;
}

function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** Not below /tmp, because a sandbox does not show the user's files there. */
const PROGRAMS = join(
  realpathSync(join(import.meta.dirname, "../../node_modules")),
  ".holdfast-test-programs",
);

describe("an external action", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("worker-1 has another fingerprint once files, the agent's commits or the remote changed", async () => {
    await using home = new ActingHome();
    const [bare, other] = [withRemote(home), withRemote(home, "other.git")];
    gitIn(home.main, "remote", "add", "origin", bare);
    await home.begin("");
    const print = async () => fingerprintOf((await home.prepare("git_push", { branch: "work" })).action);
    const seen = [await print()];
    expect(await print()).toBe(seen[0]);
    const swaps = [
      () => turn(home.task, "echo three > a.txt"),
      () => turn(home.task, "git add -A; git commit -qm 'another subject'"),
      async () => gitIn(home.main, "remote", "set-url", "origin", other),
      async () => gitIn(home.main, "remote", "set-url", "--push", "origin", bare),
      async () => gitIn(home.main, "remote", "set-url", "--push", "origin", `http://localhost:1/bare.git`),
      async () => gitIn(home.main, "remote", "set-url", "--push", "origin", `https://localhost:1/bare.git`),
    ];
    for (const swap of swaps) {
      await swap();
      const next = await print();
      if (swap !== swaps[3]) expect(seen).not.toContain(next);
      seen.push(next);
    }
    // The agent's own git config does not decide where the push goes.
    await turn(home.task, `git remote add origin ${other}; git config remote.origin.pushurl ${other}`);
    expect(seen).toContain(await print());
  });

  it("push-1 push-dir-1 runs no hook, helper or monitor and follows no URL rewrite of the repo or the agent", async () => {
    await using home = new ActingHome();
    const [bare, other] = [withRemote(home), withRemote(home, "other.git")];
    const ran = besideHome(home, "ran");
    gitIn(home.main, "remote", "add", "origin", bare);
    await home.begin("");
    const hooks = join(home.main, ".git", "hooks");
    mkdirSync(hooks, { recursive: true });
    for (const name of ["pre-push", "pre-commit", "reference-transaction", "post-checkout"])
      script(join(hooks, name), `touch ${ran}; exit 1`);
    script(besideHome(home, "planted"), `touch ${ran}; exit 1`);
    for (const [key, value] of [
      ["core.hooksPath", hooks],
      ["core.fsmonitor", besideHome(home, "planted")],
      ["core.sshCommand", besideHome(home, "planted")],
      ["credential.helper", besideHome(home, "planted")],
      [`url.${other}.insteadOf`, bare],
      [`url.${other}.pushInsteadOf`, bare],
      ["push.gpgSign", "true"],
      ["http.proxy", "http://127.0.0.1:1"],
    ] as const)
      gitIn(home.main, "config", key, value);
    await turn(
      home.task,
      `mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; git config core.hooksPath .git/hooks; git config url.${other}.insteadOf ${bare}`,
    );
    const outcome = await home.call("git_push", { branch: "work" });
    expect(outcome).toMatchObject({ outcome: "ok" });
    expect(gitIn(bare, "show", "work:a.txt")).toBe("two");
    expect(gitIn(other, "branch", "--list", "work")).toBe("");
    expect(existsSync(ran)).toBe(false);
  });

  it("worker-7 pushes the approved tree while a process of the agent goes on writing", async () => {
    await using home = new ActingHome();
    const bare = withRemote(home);
    gitIn(home.main, "remote", "add", "origin", bare);
    await home.begin("");
    const writing = home.task.runTurn(["sh", "-c", "while :; do echo evil >> a.txt; git add a.txt; done"]);
    const { prepared, action } = await (async () => {
      using _ = await home.task.freeze();
      return home.prepare("git_push", { branch: "work" });
    })();
    const outcome = await prepared.act(await home.grant(action), quiet());
    expect(outcome).toMatchObject({ outcome: "ok" });
    expect(gitIn(bare, "rev-parse", "work^{tree}")).toBe(action.tree);
    await home.task.capsule.detach();
    await writing;
  });

  it("worker-1 pushes the approved commit after the user's HEAD and the agent's HEAD moved", async () => {
    await using home = new ActingHome();
    const bare = withRemote(home);
    gitIn(home.main, "remote", "add", "origin", bare);
    await home.begin("");
    const { prepared, action } = await home.prepare("git_push", { branch: "work" });
    const grant = await home.grant(action);
    gitIn(home.main, "checkout", "-q", "-b", "elsewhere");
    gitIn(home.main, "commit", "-q", "--allow-empty", "-m", "the user's own");
    await turn(
      home.task,
      "git checkout -q -b elsewhere; git commit -qam mine; git symbolic-ref HEAD refs/heads/none",
    );
    expect(await prepared.act(grant, quiet())).toMatchObject({ outcome: "ok" });
    const { commit, parent } = prepared.target as { commit: string; parent: string };
    expect(gitIn(bare, "rev-parse", "work", "work^")).toBe(`${commit}\n${parent}`);
    expect(parent).toBe(gitIn(home.main, "rev-parse", "main"));
  });

  it("worker-6 is refused before a person is asked if the work or an argument has a secret in it", async () => {
    await using home = new ActingHome();
    gitIn(home.main, "remote", "add", "origin", withRemote(home));
    const key = `ghp_${"a1B2c3D4e5".repeat(3)}f6G7h8`;
    await home.begin("", `echo 'token = "${key}"' > settings.ini`);
    await expect(home.prepare("git_push", {})).rejects.toMatchObject({ code: "publish_refused" });
    await turn(home.task, "rm settings.ini; echo three > a.txt");
    await expect(home.prepare("git_push", { branch: key })).rejects.toMatchObject({
      code: "publish_refused",
    });
    expect((await home.prepare("git_push", {})).action.tree).not.toBeNull();
  });

  it("names the reason if its remote can't be pushed to", async () => {
    await using home = new ActingHome();
    await home.begin("");
    const said = async (url: string | undefined, args = {}) => {
      if (url !== undefined) gitIn(home.main, "config", "remote.origin.url", url);
      return home.prepare("git_push", args).then(
        () => "prepared",
        (error: Error) => error.message,
      );
    };
    expect(await said(undefined)).toContain("no remote named origin");
    expect(await said("git@example.org:a/b.git")).toContain("ssh");
    expect(await said("ssh://git@example.org/a/b.git")).toContain("ssh");
    expect(await said("ext::sh -c evil")).toContain("https");
    expect(await said("https://ani:hunter2secret@example.org/a.git")).toContain("GIT_TOKEN");
    expect(await said("https://ani:hunter2secret@example.org/a.git")).not.toContain("hunter2secret");
    expect(await said("file:///nonexistent/a.git")).toContain("not a directory with a repo");
    for (const branch of ["-f", "a..b", "a b", "x.lock", "refs/../x", "a:b", "@"])
      expect(await said("https://example.org/a.git", { branch }), branch).toContain("can't be a branch");
    expect(await said("https://example.org/a.git")).toBe("prepared");
    const { prepared } = await home.prepare("git_push", {});
    expect(prepared.target).toMatchObject({ url: "https://example.org:443/a.git" });
  });

  it("worker-1 is another action, or is refused, once its program was swapped or PATH finds another one", async () => {
    await using home = new ActingHome();
    const [one, two] = [join(PROGRAMS, "one"), join(PROGRAMS, "two")];
    for (const dir of [one, two]) mkdirSync(dir, { recursive: true });
    try {
      script(join(one, "deliver"), "echo the first");
      vi.stubEnv("PATH", `${one}:${process.env["PATH"]}`);
      await home.begin("tools: { ship: { run: [deliver] }, own: { run: [./own.sh] } }\n", "true");
      const first = await home.prepare("ship", {});
      script(join(two, "deliver"), "echo the second");
      vi.stubEnv("PATH", `${two}:${process.env["PATH"]}`);
      const second = await home.prepare("ship", {});
      expect(fingerprintOf(second.action)).not.toBe(fingerprintOf(first.action));
      const grant = await home.grant(second.action);
      script(join(two, "deliver"), "echo swapped");
      expect(fingerprintOf((await home.prepare("ship", {})).action)).not.toBe(fingerprintOf(second.action));
      expect(await second.prepared.act(grant, quiet())).toMatchObject({ facts: { code: "grant_invalid" } });
      script(join(two, "deliver"), "echo the second");
      expect(await second.prepared.act(grant, quiet())).toMatchObject({ outcome: "ok", text: "the second" });
      await expect(home.prepare("own", {})).rejects.toMatchObject({ code: "program_missing" });
      await turn(home.task, "printf '#!/bin/sh\\necho own; cat a.txt\\n' > own.sh; chmod +x own.sh");
      expect(await home.call("own", {})).toMatchObject({ outcome: "ok", text: "own\none" });
    } finally {
      rmSync(PROGRAMS, { recursive: true, force: true });
    }
  });
});
