/**
 * The programs that make the sandbox run outside of it, perhaps as root. Nothing that a repo or a task
 * controls may make them run its own code.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  findProgram,
  launch,
  plainSandbox,
  runProgram,
  type Sandbox,
  taskUser,
} from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";

const isRoot = process.getuid?.() === 0;
const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
if (!hasSandbox) leaveOut("what makes the sandbox", "bubblewrap is not installed");
if (!isRoot) leaveOut("what root starts", "this is not root");
const hasCompiler = findProgram("gcc") !== undefined;
if (!hasCompiler) leaveOut("libraries that are loaded before all others", "gcc is not installed");

/** Both streams of a script in a sandbox whose files are this directory. */
async function inside(
  dir: string,
  script: string,
  env: Record<string, string>,
  more: Partial<Sandbox> = {},
): Promise<string> {
  const started = launch(
    { ...plainSandbox(dir, taskUser("/")), ...more },
    { command: ["sh", "-c", script], tree: dir, entry: { enter: [], hasNetwork: false }, env },
  );
  const { stdout, stderr } = await runProgram(started.argv, { ...started, timeoutMs: 30_000 });
  return `${stdout}${stderr}`.trim();
}

/** A library that says which user loads it. */
function makeLibrary(path: string): void {
  const source = `#include <stdio.h>
    #include <unistd.h>
    __attribute__((constructor)) static void loaded(void) { fprintf(stderr, "LOADED %d %d\\n", getuid(), getpid()); }`;
  const { status, stderr } = spawnSync("gcc", ["-shared", "-fPIC", "-x", "c", "-", "-o", path], {
    input: source,
  });
  if (status !== 0) throw new Error(String(stderr));
}

describe.skipIf(!hasSandbox)("launching a sandbox", () => {
  it.skipIf(!isRoot)("user-1 does not run a repo's program on PATH as root", async () => {
    using temp = new TempDir();
    chmodSync(temp.path, 0o755);
    mkdirSync(temp.join("bin"));
    const claim =
      '#!/bin/sh\necho "RAN by $(/usr/bin/id -u)"\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n';
    for (const name of ["setpriv", "prlimit", "sh"])
      writeFileSync(temp.join("bin", name), name === "sh" ? '#!/bin/bash\nexec /bin/bash "$@"\n' : claim, {
        mode: 0o755,
      });
    const PATH = `${temp.join("bin")}:/usr/bin:/bin`;
    expect(await inside(temp.path, "id -u", { PATH })).toBe(String(taskUser("/")?.uid));
    // Control: the program is there, and a task that starts it by name gets it.
    expect(await inside(temp.path, "setpriv --", { PATH })).toMatch(/^RAN by \d+/);
  });

  it.skipIf(!isRoot).each(["/etc", "/", "/usr", "/usr/lib/x", "/usr/local", "/lib64", "/bin"])(
    "user-1 refuses task files at %s, where root reads what it needs to become the task's user",
    (at) => {
      const started = () =>
        launch(plainSandbox(at, taskUser("/")), {
          command: ["true"],
          tree: "/usr",
          entry: { enter: [], hasNetwork: false },
          env: {},
          isReadOnly: true,
        }).close();
      expect(started).toThrow(expect.objectContaining({ code: "sandbox_missing" }));
    },
  );

  it.skipIf(!isRoot)("accepts task files at paths that only begin like a refused one", async () => {
    using temp = new TempDir();
    chmodSync(temp.path, 0o755);
    for (const at of ["/etcetera", "/root/lib", "/usrlib"])
      expect(await inside(temp.path, "pwd", { PATH: "/usr/bin:/bin" }, { at })).toBe(at);
  });

  it.skipIf(!hasCompiler)(
    "variables-1 loads the library of a task's LD_PRELOAD in the task alone",
    async () => {
      using temp = new TempDir();
      chmodSync(temp.path, 0o755);
      makeLibrary(temp.join("own.so"));
      const env = { PATH: "/usr/bin:/bin", LD_PRELOAD: temp.join("own.so") };
      const said = await inside(temp.path, 'echo "$LD_PRELOAD"; env | grep -c HOLDFAST_LATE', env);
      expect(said).toContain(temp.join("own.so"));
      const loaded = [...said.matchAll(/LOADED (\d+) (\d+)/g)].map(
        ([, uid, pid]) => `${uid} ${Number(pid) < 100}`,
      );
      // Only the task's shell and its children load it: low pids in a pid namespace of their own.
      expect(new Set(loaded)).toEqual(new Set([`${taskUser("/")?.uid ?? process.getuid?.()} true`]));
      expect(said).toMatch(/^0$/m);
      // Control: with the same variable, a program outside loads the library.
      const plain = spawnSync("id", ["-u"], { env, encoding: "utf8" });
      expect(plain.stderr).toMatch(new RegExp(`^LOADED ${process.getuid?.()} `));
    },
  );

  it("variables-1 sets variables that make loaders and shells run code only inside the sandbox", async () => {
    using temp = new TempDir();
    chmodSync(temp.path, 0o755);
    const names = [
      "LD_LIBRARY_PATH",
      "LD_AUDIT",
      "GCONV_PATH",
      "LOCPATH",
      "GLIBC_TUNABLES",
      "BASH_ENV",
      "ENV",
    ];
    const value = "a b'\"$(echo ran)`";
    const env = Object.fromEntries(names.map((name) => [name, value]));
    const started = launch(plainSandbox(temp.path, taskUser("/")), {
      command: ["true"],
      tree: temp.path,
      entry: { enter: [], hasNetwork: false },
      env: { PATH: "/usr/bin:/bin", ...env },
    });
    started.close();
    for (const name of names) expect(started.env).not.toHaveProperty(name);
    for (const word of started.argv) expect(word).not.toContain("echo ran");
    const harmless = ["GCONV_PATH", "LOCPATH", "ENV"];
    const asked = harmless.map((name) => `printf '%s\\n' "$${name}"`).join("; ");
    const given = Object.fromEntries(harmless.map((name) => [name, value]));
    const said = await inside(temp.path, asked, { PATH: "/usr/bin:/bin", ...given });
    expect(said.split("\n")).toEqual(harmless.map(() => value));
  });
});
