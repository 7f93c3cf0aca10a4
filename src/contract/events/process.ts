/**
 * Owns the forms of the events of processes: commands, shells beside them, and quotas that they exceeded.
 */
import * as z from "zod/mini";
import { count, fields, host, name } from "./fields.ts";

const contact = z.strictObject({ host, connections: count });

export const processEvents = {
  /** It used more than its quota of the disk, of files, of processes or of memory, so its turn was ended. */
  quota_reached: () =>
    fields({
      limit: z.enum(["bytes", "files", "processes", "free_space", "memory"]),
      used: count,
      allowed: count,
    }),
  /**
   * Hosts that the task's processes asked for during a turn, and how often; `more`: the number of further
   * hosts. Turn 0: its set-up. `check`: the check after this turn that asked for them.
   */
  network_used: () =>
    fields({
      task: count,
      turn: count,
      check: z.optional(name),
      allowed: z.array(contact),
      refused: z.array(contact),
      more: z.optional(z.strictObject({ allowed: count, refused: count })),
    }),
  process_started: () => fields({ pid: count, command: z.string() }),
  /** A person opened a shell beside a running command, in its files. */
  shell_opened: () => fields({ shell: name, by: name }),
  shell_closed: () => fields({ shell: name }),
  process_ended: () => fields({ pid: count, exitCode: z.nullable(z.int()), signal: z.nullable(z.string()) }),
} as const;
