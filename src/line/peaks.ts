/**
 * Owns `stats/`: how much memory tasks of one agent definition have needed at their peak, with all their
 * processes. It is a hint for admission; if it is lost, admission guesses.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "../home/index.ts";
import { openSealedJson, readIfThere, replaceFile, sealJson, sha256Hex, statsDir } from "../util/index.ts";

const KEPT_RUNS = 10;

const statsPath = (home: Pick<Home, "dir">, definition: string) =>
  join(statsDir(home.dir), `${sha256Hex(definition).slice(0, 32)}.json`);

/** Peaks of the last runs, newest last. */
export async function readPeaks(home: Pick<Home, "dir">, definition: string): Promise<readonly number[]> {
  const bytes = await readIfThere(statsPath(home, definition)).catch(() => undefined);
  const peaks = bytes && openSealedJson(bytes)?.["peakBytes"];
  return Array.isArray(peaks) ? peaks.filter((peak) => Number.isSafeInteger(peak) && peak >= 0) : [];
}

export async function addPeak(
  home: Pick<Home, "dir" | "io">,
  definition: string,
  peakBytes: number,
): Promise<void> {
  await mkdir(statsDir(home.dir), { recursive: true, mode: 0o700 });
  const peaks = [...(await readPeaks(home, definition)), peakBytes].slice(-KEPT_RUNS);
  const path = statsPath(home, definition);
  await replaceFile(home.io.disk, path, sealJson({ definition, peakBytes: peaks }));
}
