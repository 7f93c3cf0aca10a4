/**
 * Owns which of the user's tools a task can use: those that PATH and the tools' own variables lead to, and
 * those that the user names in `sandbox.read`. All of them are read-only, at the same path, and without
 * credentials (credentials.ts).
 */
import { join } from "node:path";
import { isWithin } from "../../util/index.ts";
import { PRIVATE_PLACES } from "./credentials.ts";
import { findHidden, findSockets } from "./look.ts";
import type { Shown } from "./mounts.ts";
import { neighbours } from "./neighbours.ts";
import { absolute, lstatOr, nearest, realOr, statOr } from "./paths.ts";
import { showPrograms, showVersions } from "./programs.ts";
import { type Rules, Showing } from "./showing.ts";
import { TOOL_PLACES, VERSION_FILES } from "./tool-places.ts";

export interface Tools extends Shown {
  /** PATH, and the variables that lead to the tools. */
  readonly env: Readonly<Record<string, string>>;
  /** Paths that the user names and that are not shown, each with the reason. */
  readonly refused: readonly (readonly [path: string, why: string])[];
  /** Shown directories that have too many subdirectories to search for credentials. */
  readonly unfinished: readonly string[];
}

export const noTools: Tools = { read: [], links: [], covered: [], env: {}, refused: [], unfinished: [] };

export interface ToolsAsked extends Rules {
  /** The user's own environment. Only PATH and the tools' variables are taken from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's `sandbox.read`: `~/…` or absolute. */
  readonly read: readonly string[];
  /** Whether the task may reach a host. Default: none. */
  readonly reaches?: (host: string) => boolean;
}

const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

export function findTools(asked: ToolsAsked): Tools {
  const showing = new Showing(asked);
  const refused = asked.read.flatMap((path) => showNamed(showing, path, asked.userHome));
  const path = [...new Set((asked.env["PATH"] || DEFAULT_PATH).split(":"))];
  for (const dir of path) if (dir.startsWith("/")) showPrograms(showing, dir);
  const variables = { ...showPlaces(showing, asked), ...showGo(showing, asked) };
  for (const name of VERSION_FILES) showing.show(join(asked.userHome, name));
  return { ...shownBy(showing, asked, path), env: { PATH: path.join(":"), ...variables }, refused };
}

function showNamed(showing: Showing, path: string, userHome: string): (readonly [string, string])[] {
  const whole = absolute(path, userHome);
  if (whole === undefined) return [[path, "it is neither absolute nor below ~/"]];
  if (statOr(whole) === undefined) return [[path, "it does not exist"]];
  if (showing.show(whole, { isNamed: true })) return [];
  return [
    [
      path,
      showing.whyNot(realOr(whole) ?? whole, true) ??
        "a link in the repo leads there, or too many paths are shown",
    ],
  ];
}

/** The variables that are set inside, with the user's values. */
function showPlaces(showing: Showing, { env, userHome, reaches }: ToolsAsked): Record<string, string> {
  const set: Record<string, string> = {};
  for (const { variable, below = [], isOnlyShown, fetchedFrom } of TOOL_PLACES) {
    const places = env[variable] ? [env[variable]] : below.map((place) => join(userHome, place));
    const shown = places.find((place) => place.startsWith("/") && showing.show(place));
    if (shown === undefined) continue;
    showVersions(showing, shown);
    if (isOnlyShown) continue;
    if (fetchedFrom === undefined || !reaches?.(fetchedFrom)) set[variable] = shown;
  }
  return set;
}

const GO_PROXY = "proxy.golang.org";

/**
 * Existing modules are read in place. If the task may fetch others, it needs a place for them: then the
 * existing ones serve as the first proxy. GOPATH stays the session's, because programs are installed into it.
 */
function showGo(showing: Showing, { env, userHome, reaches }: ToolsAsked): Record<string, string> {
  const goPath = env["GOPATH"]?.split(":")[0] || join(userHome, "go");
  const modules = env["GOMODCACHE"] || join(goPath, "pkg", "mod");
  if (!modules.startsWith("/") || !showing.show(modules)) return {};
  if (!reaches?.(GO_PROXY)) return { GOMODCACHE: modules };
  return { GOPROXY: `file://${modules}/cache/download,https://${GO_PROXY},direct` };
}

/** What was collected, without paths inside others, and everything that has to be covered in it. */
function shownBy(
  showing: Showing,
  { apart, checkout }: ToolsAsked,
  path: readonly string[],
): Shown & Pick<Tools, "unfinished"> {
  const { home, paths, root } = showing;
  const places = PRIVATE_PLACES.map((place) => join(home, place)).filter((place) => !showing.isNamed(place));
  // The user of a service may have its home in the root, with the Holdfast home in it.
  const empty = [home, ...apart, ...places, ...neighbours(checkout, root, path)].filter(
    (path) => nearest([...root.dirs, ...paths], path) !== undefined && lstatOr(path)?.isDirectory(),
  );
  const isSeen = (path: string) => {
    const around = nearest([...root.dirs, "/etc", ...paths, ...empty], path);
    return around !== undefined && !empty.includes(around);
  };
  // Paths of /etc that the user names may be covered there.
  const read = paths.filter((path) => !isSeen(path) || isWithin("/etc", path));
  const { hidden, unfinished } = findHidden(read, {
    isNamed: (file) => showing.isNamed(file),
    isCovered: (dir) => empty.includes(dir),
  });
  const made = new Set(root.links.map(([, path]) => path));
  return {
    read,
    links: showing.links.filter(([, path]) => !made.has(path) && !isSeen(path)),
    covered: [...new Set([...empty, ...hidden, ...findSockets([...root.dirs, ...read])])].filter(isSeen),
    unfinished,
  };
}
