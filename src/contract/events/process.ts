/**
 * Owns the forms of the events of processes: commands, shells beside them, and what they took too much of.
 */
import * as z from "zod/mini";
import { count, fields, name } from "./fields.ts";

export const processEvents = {
  /** More than its share of the disk, of files, of processes or of memory: its turn was ended. */
  quota_reached: () =>
    fields({
      limit: z.enum(["bytes", "files", "processes", "free_space", "memory"]),
      used: count,
      allowed: count,
    }),
  process_started: () => fields({ pid: count, command: z.string() }),
  /** A person looks into the files of a command that runs, from beside it. */
  shell_opened: () => fields({ shell: name, by: name }),
  shell_closed: () => fields({ shell: name }),
  process_ended: () => fields({ pid: count, exitCode: z.nullable(z.int()), signal: z.nullable(z.string()) }),
} as const;
