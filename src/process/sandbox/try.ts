/**
 * Owns the answer to "can a sandbox be made here?". It tries one as it will be used, with a holder and
 * everything around a command. If that fails, it tries the parts one after another, so that the error can
 * name the part that is refused.
 */
import { randomUUID } from "node:crypto";
import { chownSync, closeSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findCgroup } from "../cgroup.ts";
import { findProgram } from "../find-program.ts";
import { endHolder, enterHolder, enterNetwork } from "../holder.ts";
import { startHolder } from "../holder-start.ts";
import { listenInside } from "../network/opener.ts";
import { programPath } from "../outside-program.ts";
import { runProgram } from "../program.ts";
import { type Entry, launch } from "./launch.ts";
import { plainSandbox, type Sandbox } from "./sandbox.ts";
import { openSeccomp } from "./seccomp.ts";
import { becoming, taskUser } from "./user.ts";
import { missingProgram, type NoSandbox, type Tried, whyRefused } from "./why-not.ts";

const TRY_MS = 10_000;
const TRIED_AT = "/tmp/tried";
const TRIED_PORT = 18_128;
/** Enough for the attempt. */
const [MAX_PROCESSES, MAX_OPEN_FILES, MAX_FILE_BYTES] = [4096, 1024, 1024 * 1024];
const WRITE = ': > "$HOME/tried" && : > "$TMPDIR/tried"';
const env = () => ({ PATH: process.env["PATH"] ?? "", LC_ALL: "C" });

/** Undefined: a sandbox can be made. */
export async function trySandbox(): Promise<NoSandbox | undefined> {
  const missing = missingProgram();
  if (missing) return missing;
  const said = await tryWhole();
  return said === undefined ? undefined : whyRefused((await firstRefused()) ?? { what: "whole", said });
}

/**
 * The error text if it fails. It is tried as for a task: counted and limited, with a HOME, a TMPDIR and a
 * network.
 */
async function tryWhole(): Promise<string | undefined> {
  const name = `trial-${randomUUID()}`;
  const mark = `/holdfast-trial/${name}`;
  const user = taskUser("/");
  const sandbox = {
    ...plainSandbox(TRIED_AT, user),
    limits: { maxProcesses: MAX_PROCESSES, maxOpenFiles: MAX_OPEN_FILES, maxFileBytes: MAX_FILE_BYTES },
    cgroup: { name, limits: { maxProcesses: MAX_PROCESSES } },
  };
  const dir = mkdtempSync(join(tmpdir(), "holdfast-trial-"));
  try {
    const [home, tmp] = [join(dir, "home"), join(dir, "tmp")];
    for (const own of [home, tmp]) {
      mkdirSync(own, { mode: 0o700 });
      if (user) chownSync(own, user.uid, user.gid);
    }
    const holder = await startHolder({
      cwd: "/",
      mark,
      hasNetwork: true,
      record: async () => {},
      endsWithUs: true,
    });
    try {
      const listener = await listenInside(enterNetwork(holder), [TRIED_PORT], (client) => client.destroy());
      listener.close();
      const entry = { enter: enterHolder(holder), hasNetwork: true };
      const { exitCode, stderr } = await runIn(sandbox, entry, ["sh", "-c", WRITE], { home, tmp });
      return exitCode === 0 ? undefined : stderr;
    } finally {
      await endHolder(holder, mark);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    rmSync(dir, { recursive: true, force: true });
    await findCgroup(name)?.end();
  }
}

interface OwnDirs {
  readonly home: string;
  readonly tmp: string;
}

function runIn(sandbox: Sandbox, entry: Entry, command: readonly string[], own?: OwnDirs) {
  const launched = launch(sandbox, {
    ...{ command, tree: "/usr", entry, isReadOnly: true },
    env: { ...env(), ...(own && { HOME: own.home }) },
    ...(own && { writable: [own.home], tmp: own.tmp }),
  });
  return runProgram(launched.argv, { ...launched, timeoutMs: TRY_MS });
}

/** Each attempt has one part more than the one before. */
async function firstRefused(): Promise<Tried | undefined> {
  const isRoot = process.getuid?.() === 0;
  const parts: readonly (readonly [Tried["what"], ...string[]])[] = [
    ["namespaces", ...(isRoot ? [] : ["--unshare-user"]), "--unshare-ipc", "--unshare-uts"],
    ["processes", "--unshare-pid", "--proc", "/proc"],
    ["network", "--unshare-net"],
    ...(isRoot ? [] : [["version", "--disable-userns"] as const]),
    ["filter", "--seccomp", "3"],
  ];
  const words = [programPath("bwrap"), "--ro-bind", "/", "/"];
  for (const [what, ...more] of parts) {
    words.push(...more);
    const said = await refused([...words, "--", "true"]);
    if (said !== undefined) return { what, said };
  }
  const user = taskUser("/");
  const said = user && (await refused([...words, "--", ...becoming(user, TRIED_AT), "true"]));
  return said === undefined ? undefined : { what: "user", said };
}

async function refused(argv: readonly string[]): Promise<string | undefined> {
  const filter = openSeccomp();
  const close = () => closeSync(filter);
  const { exitCode, stderr } = await runProgram(argv, {
    env: env(),
    cwd: "/",
    descriptors: [filter],
    close,
    timeoutMs: TRY_MS,
  });
  return exitCode === 0 ? undefined : stderr;
}

/** Those of the programs found that a task can't run: its user may not read them, or they are not shown. */
export async function unusableTools(tools: Sandbox["tools"], names: readonly string[]): Promise<string[]> {
  const paths = names.flatMap((name) => findProgram(name) ?? []);
  const sandbox = { ...plainSandbox(TRIED_AT, taskUser("/")), tools };
  const look = 'for one in "$@"; do [ -x "$one" ] && [ -r "$one" ] || echo "$one"; done';
  const command = ["sh", "-c", look, "sh", ...paths];
  const { stdout } = await runIn(sandbox, { enter: [], hasNetwork: false }, command);
  return stdout.toString("utf8").split("\n").filter(Boolean);
}
