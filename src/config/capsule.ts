/**
 * Owns the section `capsule`: what a task's files are made with.
 */
import * as z from "zod/mini";
import { variableSchema } from "../contract/index.ts";
import { orNothing } from "./document.ts";
import { megabytes } from "./quota.ts";

/**
 * A port number in one of these variables would break the command. Variables that no task may be given are
 * refused, too.
 */
const NO_PORT = /^(SHELL|USER|LOGNAME|LANG|TERM|NODE_OPTIONS|(LC|GIT)_.*)$/;
const variable = variableSchema.check(
  z.refine((name) => !NO_PORT.test(name), "is reserved: a port number in it would break commands"),
);

const isInside = (path: string) =>
  path
    .replace(/\/+$/, "")
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && part !== ".git");

const form = z.strictObject({
  strategy: z._default(z.enum(["auto", "overlay", "worktree", "clone"]), "auto"),
  setup: z._default(z.string(), ""),
  include: z._default(z.array(z.string().check(z.refine(isInside, "is not a path inside the repo"))), []),
  ports: z._default(z.array(variable).check(z.maxLength(100)), []),
  max_snapshot_mb: z._default(megabytes, 4096),
  max_ignored_mb: z._default(megabytes, 512),
  max_home_mb: z._default(megabytes, 64),
  home_exclude: z.optional(z.array(z.string().check(z.minLength(1)))),
});

export const capsuleSection = z.prefault(z.pipe(orNothing, form), {});
