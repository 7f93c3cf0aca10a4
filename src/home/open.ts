/**
 * Owns the opening of a home: its options and their defaults.
 */
import { resolve } from "node:path";
import { typeid } from "typeid-js";
import type { JournalIo, Redactor } from "../journal/index.ts";
import { redactSecrets } from "../redaction/index.ts";
import {
  ballastPath,
  type Clock,
  type Disk,
  type OnProgress,
  realDisk,
  systemClock,
  withBallast,
} from "../util/index.ts";
import { defaultHomeDir, type Home } from "./home.ts";
import { prepareHome } from "./preparing.ts";

export interface HoldfastOptions {
  /** Default: `HOLDFAST_HOME`, else `~/.holdfast`. */
  readonly home?: string;
  /** Whether to make the home if it does not exist. Default: true. */
  readonly create?: boolean;
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly newId?: (prefix: string) => string;
  readonly redact?: Redactor;
  /** Gets the progress of long work: files checked out, snapshots packed, an export written. */
  readonly onProgress?: OnProgress | undefined;
  readonly isService?: boolean | undefined;
}

/** For code below the library's public interface: session processes and the dispatcher. */
export async function openHome(options: HoldfastOptions = {}): Promise<Home> {
  const dir = options.home ?? defaultHomeDir();
  const clock = options.clock ?? systemClock;
  const io: JournalIo = {
    disk: options.disk ?? withBallast(realDisk, clock, ballastPath(resolve(dir))),
    clock,
    redact: options.redact ?? redactSecrets,
  };
  const newId = options.newId ?? ((prefix) => typeid(prefix).toString());
  const { onProgress, isService, create = true } = options;
  return { ...(await prepareHome({ dir, io, newId, create })), onProgress, isService };
}
