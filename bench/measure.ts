/**
 * Owns how the benches measure time: side by side, in turns, as medians. Absolute times depend on the
 * machine; the ratios are the result.
 */
import { performance } from "node:perf_hooks";

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/**
 * Runs the candidates in turns, so that other load on the machine affects all of them. Returns medians in
 * milliseconds.
 */
export async function inTurns<K extends string>(
  candidates: Record<K, () => Promise<unknown>>,
  options: { readonly rounds: number; readonly perRound: number },
): Promise<Record<K, number>> {
  const times = Object.fromEntries(Object.keys(candidates).map((name) => [name, [] as number[]])) as Record<
    K,
    number[]
  >;
  for (let round = 0; round < options.rounds; round += 1) {
    for (const name of Object.keys(candidates) as K[]) {
      for (let index = 0; index < options.perRound; index += 1)
        times[name].push(await timeMs(candidates[name]));
    }
  }
  return Object.fromEntries(
    Object.entries<number[]>(times).map(([name, values]) => [name, median(values)]),
  ) as Record<K, number>;
}

export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly ratio: number;
  readonly bound: string;
  readonly isMet: boolean;
}

export function atMost(what: string, measured: string, ratio: number, limit: number, unit = "×"): Row {
  return { what, measured, ratio, bound: `≤ ${limit} ${unit}`, isMet: ratio <= limit };
}

export function atLeast(what: string, measured: string, ratio: number, limit: number): Row {
  return { what, measured, ratio, bound: `≥ ${limit} ×`, isMet: ratio >= limit };
}

/** A row for comparison, without a bound. */
export function compared(what: string, measured: string, ratio: number): Row {
  return { what, measured, ratio, bound: "-", isMet: true };
}

export function printTable(rows: readonly Row[]): void {
  console.log("| what | measured | ratio | bound | |\n|---|---|---|---|---|");
  for (const { what, measured, ratio, bound, isMet } of rows) {
    console.log(
      `| ${what} | ${measured} | ${ratio.toFixed(2)} | ${bound} | ${bound === "-" ? "" : isMet ? "met" : "**missed**"} |`,
    );
  }
}
