/**
 * Owns the question which changes of the checkout a task will not see, because they are not committed.
 */
import { type Clock, deadline } from "../../util/index.ts";
import { runGit } from "../git/git.ts";
import { ignoreFileOf, readUserConfig, type UserSetting } from "../git/user-git.ts";
import type { Repo } from "./repo.ts";

/** A directory that is not tracked counts as one. */
export interface Unseen {
  readonly changed: number;
  readonly untracked: number;
  /** Those of the caller's files that are changed or untracked. */
  readonly named: readonly string[];
}

export interface UnseenRequest {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Files that the caller wants to know about. */
  readonly files: readonly string[];
}

/** Undefined if there are none, if there is no checkout, or if git did not answer in time. */
export async function unseenIn(
  { checkout, headDir }: Repo,
  { clock, timeoutMs, files }: UnseenRequest,
): Promise<Unseen | undefined> {
  if (checkout === null) return undefined;
  const patience = deadline(clock, timeoutMs);
  try {
    const config = withoutFilters(await readUserConfig(headDir, SETTINGS, timeoutMs));
    const leftMs = Math.floor(patience.leftMs);
    if (!config || leftMs === 0) return undefined;
    const args = ["status", "--porcelain", "-z", "-unormal", "--no-renames", "--ignore-submodules=dirty"];
    const place = { gitDir: headDir, workTree: checkout };
    const { stdout } = await runGit(place, args, { config, timeoutMs: leftMs });
    const rows = stdout.toString("utf8").split("\0").filter(Boolean);
    if (rows.length === 0) return undefined;
    const untracked = rows.filter((row) => row.startsWith("??")).length;
    const paths = new Set(rows.map((row) => row.slice(3)));
    return {
      changed: rows.length - untracked,
      untracked,
      named: files.filter((file) => paths.has(file)),
    };
  } catch {
    // Whatever went wrong, the task does not depend on it.
    return undefined;
  }
}

const SETTINGS = "^(core\\.(excludesfile|autocrlf|eol)|filter\\..*\\.(clean|process|required))$";

/** The user's settings that decide whether a file is changed. Filters are switched off. */
function withoutFilters(settings: readonly UserSetting[]): string[] | undefined {
  const filters = settings.filter(({ name }) => name.startsWith("filter."));
  // Git would read another name.
  if (filters.some(({ name }) => name.includes("="))) return undefined;
  const own = settings.filter(({ name, isRepos }) => name !== "core.excludesfile" || !isRepos);
  const last = (wanted: string) => own.findLast(({ name }) => name === wanted)?.value;
  const said = ["core.autocrlf", "core.eol"].flatMap((name) => {
    const value = last(name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return [
    ...said,
    `core.excludesFile=${ignoreFileOf(last("core.excludesfile"))}`,
    ...filters.map(({ name }) => `${name}=${name.endsWith(".required") ? "false" : ""}`),
  ];
}
