/**
 * Owns the names of lanes, and the classes of tools that a lane sorts. What a lane is, is defined in `lane/`.
 */
import * as z from "zod/mini";

/** The lanes that come with the program. No repo can redefine them. */
export const shippedLanes = ["read-only", "repo-fix", "online"] as const;
export type ShippedLane = (typeof shippedLanes)[number];
export const isShippedLane = (name: string): name is ShippedLane =>
  shippedLanes.some((shipped) => shipped === name);

export const toolClasses = ["read", "write", "external"] as const;
/** What a tool can do at the most. */
export type ToolClass = (typeof toolClasses)[number];

/** The tools that every session has. */
export const builtinToolNames: readonly string[] = [
  ...["read_file", "list_files", "search_code", "git_diff", "git_log", "read_blob"],
  ...["edit_file", "write_file", "run_command", "end_command", "git_commit"],
  ...["send_message", "ask_person", "note"],
];

/** The tools that act outside and come with the program. */
export const shippedToolNames = ["git_push", "gh_pr_create", "http_request"] as const;
export type ShippedTool = (typeof shippedToolNames)[number];

/** In place of names: every tool of its class. */
export const EVERY_TOOL = "*";

/** Which tools a lane has, by class, and for which classes a person is asked each time. */
export interface LaneTools extends Readonly<Record<ToolClass, readonly string[]>> {
  readonly approval: readonly ToolClass[];
}

/** For a lane that does not name its tools. */
export const usualTools: LaneTools = {
  read: [EVERY_TOOL],
  write: [EVERY_TOOL],
  external: [],
  approval: ["external"],
};

/** As for a session's name: a word that a person can type. */
export const laneNameSchema = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]{0,39}$/,
      "is not a name for a lane: use small letters, digits and hyphens, a letter first, 40 characters at most",
    ),
  );
