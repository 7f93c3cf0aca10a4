/**
 * Owns the section `quota`: how much one session may use, so that the others have their share; and how much
 * output a task may have.
 */
import * as z from "zod/mini";
import { orNothing } from "./document.ts";

export const megabytes = z.number().check(z.positive());
/** How much of a task's output is kept. */
export const outputLimit = z._default(megabytes, 64);
const whole = z.int().check(z.positive());

const form = z.strictObject({
  disk_mb: z._default(megabytes, 20_480),
  files: z._default(whole, 2_000_000),
  processes: z._default(whole, 4096),
  reserve_mb: z._default(megabytes, 512),
  /** By default, what the machine has. */
  memory_mb: z.optional(megabytes),
});

export const quotaSection = z.prefault(z.pipe(orNothing, form), {});
export type QuotaSettings = z.infer<typeof form>;

/** A repo may lower what the user allows, and raise nothing. */
export function within(asked: QuotaSettings, allowed: QuotaSettings): QuotaSettings {
  const memories = [asked.memory_mb, allowed.memory_mb].filter((one) => one !== undefined);
  return {
    disk_mb: Math.min(asked.disk_mb, allowed.disk_mb),
    files: Math.min(asked.files, allowed.files),
    processes: Math.min(asked.processes, allowed.processes),
    // What stays free for others: for this key, a higher number is a lower limit for the session.
    reserve_mb: Math.max(asked.reserve_mb, allowed.reserve_mb),
    ...(memories.length > 0 && { memory_mb: Math.min(...memories) }),
  };
}
