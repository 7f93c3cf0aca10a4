/**
 * Machines on which no sandbox can be made: what doctor says, what run refuses, and how a task without one is
 * shown.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryCgroup } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { HostHome } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

const isRoot = process.getuid?.() === 0;

/** A PATH with the machine's programs, of which some are replaced (by a text) or left out (by null). */
function pathWith(home: HostHome, own: Readonly<Record<string, string | null>>): string {
  const bin = home.join("bin");
  mkdirSync(bin);
  for (const dir of (process.env["PATH"] ?? "").split(":").filter((one) => existsSync(one)))
    for (const name of readdirSync(dir))
      if (!Object.hasOwn(own, name) && !existsSync(join(bin, name)))
        symlinkSync(join(dir, name), join(bin, name));
  for (const [name, text] of Object.entries(own))
    if (text !== null) writeFileSync(join(bin, name), text, { mode: 0o755 });
  return bin;
}

const says = (words: string) => `#!/bin/sh\necho "bwrap: ${words}" >&2\nexit 1\n`;
/** A bwrap that fails if this word is among its arguments. */
const failsAt = (word: string, words: string) =>
  `#!/bin/sh\nfor one in "$@"; do [ "$one" = ${word} ] && { echo "bwrap: ${words}" >&2; exit 1; }; done\nexit 0\n`;

interface Finding {
  readonly what: string;
  readonly level: string;
  readonly detail: string;
}

async function findingIn(home: HostHome, path: string, wanted: string): Promise<Finding | undefined> {
  const { stdout } = await runCli(home.dir, ["doctor", "--json"], { PATH: path });
  return (JSON.parse(stdout) as Finding[]).find(({ what }) => what === wanted);
}

const sandboxIn = (home: HostHome, path: string) => findingIn(home, path, "sandbox");

describe("doctor", () => {
  it.each([
    ["bubblewrap is not installed", { bwrap: null }, /bubblewrap is not installed; apt install bubblewrap/],
    [
      "AppArmor forbids user namespaces",
      { bwrap: says("setting up uid map: Permission denied") },
      /AppArmor keeps .*uid map.*apparmor_restrict_unprivileged_userns=0/,
    ],
    [
      "AppArmor takes the capabilities of a user namespace away",
      { bwrap: failsAt("--unshare-net", "loopback: Failed RTM_NEWADDR: Operation not permitted") },
      /AppArmor keeps .*RTM_NEWADDR/,
    ],
    [
      "a container masks /proc",
      { bwrap: failsAt("--proc", "Can't mount proc on /newroot/proc: Operation not permitted") },
      /a \/proc of its own can't be mounted.*systempaths=unconfined/,
    ],
    [
      "no network namespace can be made",
      { bwrap: failsAt("--unshare-net", "Creating new namespace failed: Operation not permitted") },
      /a network of its own can't be made/,
    ],
    [
      "the kernel has no filter of system calls",
      { bwrap: failsAt("--seccomp", "prctl(PR_SET_SECCOMP): Invalid argument") },
      /no filter of system calls can be set.*CONFIG_SECCOMP_FILTER/,
    ],
  ])("tries the sandbox and says what stands in the way: %s", async (_, own, expected) => {
    using home = new HostHome();
    const { level, detail = "" } = (await sandboxIn(home, pathWith(home, own))) ?? {};
    expect(detail).toMatch(expected);
    expect({ level, isWayShown: detail.includes("--no-sandbox") }).toEqual({
      level: "note",
      isWayShown: true,
    });
  });

  if (!isRoot) console.log("left out: root without setpriv, and tools of root's own: this is not root");
  it.skipIf(!isRoot)("says that root's tasks can't become another user without setpriv", async () => {
    using home = new HostHome();
    const finding = await sandboxIn(home, pathWith(home, { setpriv: null }));
    expect(finding?.detail).toMatch(/setpriv is missing.*another user; apt install util-linux/);
  });

  it("says whether the kernel holds a session to its limits, and how it can where it does not", async () => {
    using home = new HostHome();
    const { processes, memory } = await tryCgroup();
    const finding = await findingIn(home, process.env["PATH"] ?? "", "quota");
    if (processes && memory)
      expect(finding).toMatchObject({ level: "ok", detail: expect.stringContaining("by a cgroup") });
    else expect(finding).toMatchObject({ level: "note", detail: expect.stringContaining("Delegate=yes") });
  });

  it.skipIf(!hasSandbox)("finds a working sandbox, and names programs a task can't run", async () => {
    using home = new HostHome();
    chmodSync(home.path, 0o755);
    mkdirSync(home.join("own"));
    for (const name of ["codex", "opencode"]) writeFileSync(home.join("own", name), "#!/bin/sh\n");
    chmodSync(home.join("own/codex"), 0o755);
    chmodSync(home.join("own/opencode"), 0o700);
    const path = `${home.join("own")}:${process.env["PATH"]}`;
    expect(await sandboxIn(home, path)).toMatchObject({ level: "ok" });
    const { stdout } = await runCli(home.dir, ["doctor"], { PATH: path });
    const tools = stdout.split("\n").filter((line) => /^note +tools/.test(line));
    expect(tools.join("\n")).not.toContain("own/codex");
    if (isRoot) expect(tools.join("\n")).toContain(`a task can't run ${home.join("own/opencode")}`);
  });
});

it("run is refused if no sandbox can be made; --no-sandbox runs the task, which is shown as unsandboxed", async () => {
  using home = new HostHome();
  const env = { PATH: pathWith(home, { bwrap: says("setting up uid map: Permission denied") }) };
  const hf = (...args: string[]) => runCli(home.dir, args, env);
  const run = (...args: string[]) =>
    hf("run", "--repo", home.main, ...args, "--", "sh", "-c", "echo x > new");
  expect(await run()).toMatchObject({
    status: 5,
    stderr: expect.stringMatching(/sandbox_missing: .*AppArmor.*--no-sandbox/),
  });
  expect(JSON.parse((await hf("ls", "--all", "--json")).stdout)).toEqual([]);

  const { status, stderr } = await run("--no-sandbox");
  expect(status).toBe(0);
  expect(stderr).toMatch(/\[router\] .* sandbox=none$/m);
  expect(stderr).toContain("[sandbox] waived");
  const [session] = JSON.parse((await hf("ls", "--json")).stdout);
  expect(session.task).toMatchObject({ isSandboxed: false });
  expect((await hf("ls")).stdout).toContain("no sandbox");
  expect((await hf("show", session.id)).stdout).toMatch(
    /^sandbox +none: its command can do everything that you can do$/m,
  );
  expect(JSON.parse((await hf("show", session.id, "--json")).stdout).task).toMatchObject({
    isSandboxed: false,
  });
  expect((await hf("log", session.id)).stdout).toContain("no sandbox");
  expect(gitIn(home.main, "log", "-1", "--format=%B", home.branchOf(session.id))).toMatch(/\nSandbox: none$/);
});
