/**
 * Owns the sections `lanes` and `lane`: the lanes that a repo has in addition to the shipped ones, and which
 * lane is the default. What a lane does not name is as in `repo-fix`.
 */
import * as z from "zod/mini";
import { EVERY_TOOL, hostListSchema, isShippedLane, laneNameSchema, toolClasses } from "../contract/index.ts";
import { orNothing } from "./document.ts";

export const DEFAULT_LANE = "repo-fix";
const MAX_TOOLS = 200;
const MAX_LANES = 100;

const tool = z.string().check(z.regex(/^(\*|[A-Za-z][A-Za-z0-9_.-]{0,99})$/, "is not the name of a tool"));
const tools = z.array(tool).check(z.maxLength(MAX_TOOLS));

const lane = z.strictObject({
  read: z._default(tools, [EVERY_TOOL]),
  /** Empty: the capsule is read-only. */
  write: z._default(tools, [EVERY_TOOL]),
  external: z._default(tools, []),
  /** The classes of tools for which a person is asked each time. */
  approval: z._default(z.array(z.enum(toolClasses)), ["external"]),
  hosts: z._default(hostListSchema, []),
});
export type LaneSettings = z.infer<typeof lane>;

const lanes = z.record(z.string(), z.pipe(orNothing, lane)).check((context) => {
  const names = Object.keys(context.value);
  const refuse = (path: string[], message: string) =>
    context.issues.push({ code: "custom", path, message, input: context.value });
  if (names.length > MAX_LANES) refuse([], `has more than ${MAX_LANES} lanes`);
  for (const name of names) {
    if (isShippedLane(name))
      refuse([name], "is the name of a lane that comes with holdfast: choose another name");
    const reason = laneNameSchema.safeParse(name).error?.issues[0]?.message;
    if (reason !== undefined) refuse([name], reason);
  }
});

export const lanesSection = z.prefault(z.pipe(orNothing, lanes), {});
export const defaultLane = z._default(z.string(), DEFAULT_LANE);

/** The lane of that name, if the file has one. */
export function ownLane(own: Readonly<Record<string, LaneSettings>>, name: string): LaneSettings | undefined {
  return Object.hasOwn(own, name) ? own[name] : undefined;
}
