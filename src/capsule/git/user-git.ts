/**
 * Owns the calls of git with the user's own settings, as if they had called it themselves: about their
 * checkout, and about where a repo is. Hooks, monitors and transports stay off (git-1).
 */
import { join } from "node:path";
import { type ProgramResult, userHome } from "../../process/index.ts";
import { present } from "../../util/index.ts";
import { failure, type GitOptions, type GitPlace, gitEnvironment, OFF, startGit, TIMEOUT_MS } from "./git.ts";

/**
 * For what a person asks of their own checkout. It uses their own configuration, filters included. Hooks,
 * monitors and transports stay off. The person's index is written only if the call asks for that.
 */
export async function userGit(
  place: GitPlace,
  args: readonly string[],
  { input, isWriting = false }: Pick<GitOptions, "input"> & { readonly isWriting?: boolean } = {},
): Promise<Buffer> {
  const {
    GIT_CONFIG_GLOBAL: _,
    GIT_CONFIG_NOSYSTEM: __,
    GIT_ATTR_NOSYSTEM: ___,
    ...env
  } = gitEnvironment(place);
  const own = OFF.filter((setting) => !OF_THE_USER.test(setting));
  // A copy of an index must be complete in one file. The person's own index keeps its form.
  const form = isWriting ? [] : ["core.splitIndex=false"];
  const settings = [...own, "core.bare=false", "core.safecrlf=false", ...form];
  const words = settings.flatMap((setting) => ["-c", setting]);
  const result = await startGit(["-C", place.workTree ?? "/", ...words, ...args], {
    env: { ...env, HOME: userHome() },
    cwd: "/",
    timeoutMs: TIMEOUT_MS,
    ...(input && { input }),
  });
  if (result.exitCode === 0) return result.stdout;
  throw failure(args[0] ?? "", result);
}

const OF_THE_USER = /^core\.(attributes|excludes)File=/;

/** A gitdir can make git wait forever, for example with a pipe in the place of its config. */
const WAIT_MS = 20_000;

/**
 * Asks git about a directory of which nothing is known yet. `safe.directory` is among the user's settings.
 * None of the questions that are allowed here runs anything.
 */
export function askWhere(path: string, questions: readonly string[]): Promise<ProgramResult> {
  return startGit(["-c", "core.fsmonitor=false", "rev-parse", ...questions], {
    cwd: path,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: userHome(),
      LC_ALL: "C",
      ...present({ SUDO_UID: process.env["SUDO_UID"] }),
    },
    timeoutMs: WAIT_MS,
  });
}

export interface UserSetting {
  readonly name: string;
  readonly value: string;
  /** Whether the value comes from the repo and not from the user. */
  readonly isRepos: boolean;
}

/** Reads the configuration of the user and the repo as the user's git would. Reading runs nothing. */
export async function readUserConfig(
  gitDir: string,
  pattern: string,
  timeoutMs = WAIT_MS,
): Promise<UserSetting[]> {
  const { GIT_CONFIG_GLOBAL: _, GIT_CONFIG_NOSYSTEM: __, ...env } = gitEnvironment({ gitDir });
  const words = ["config", "-z", "--show-scope", "--get-regexp", pattern];
  const { stdout } = await startGit(words, {
    env: { ...env, HOME: userHome() },
    cwd: "/",
    timeoutMs,
  });
  const fields = stdout.toString("utf8").split("\0");
  const settings: UserSetting[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope = "", pair = ""] = fields.slice(at, at + 2);
    const end = pair.indexOf("\n");
    const [name, value] = end < 0 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)];
    settings.push({ name, value, isRepos: scope !== "global" && scope !== "system" });
  }
  return settings;
}

/** The user's own ignore rules: the file that their settings name, or the one that git looks for. */
export const ignoreFileOf = (configured: string | undefined): string =>
  configured?.replace(/^~(?=\/)/, userHome()) ?? join(userHome(), ".config/git/ignore");
