/**
 * The worker: `main`, started for one action. It reads its order from its input, and does nothing unless the
 * order is complete. The outcome is on disk before it prints it as its only line. It outlives the process
 * that started it.
 */
import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { isHoldfastError } from "../contract/index.ts";
import type { ToolOutcome } from "../lane/index.ts";
import { carryOut } from "./carry-out.ts";
import { parseOrder } from "./order.ts";

/**
 * Credentials in memory must not reach a file: a limit prevents core files, and this keeps memory out of a
 * crash collector's.
 */
function keepOutOfCores(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Only Linux has this file.
  }
}

function refusal(error: unknown): ToolOutcome {
  const known = isHoldfastError(error) ? error : undefined;
  if (!known) process.stderr.write(`bug: ${error instanceof Error ? error.stack : error}\n`);
  const { code, message } = known ?? { code: "tool_failed", message: "an internal error: nothing was done" };
  return { outcome: "refused", text: `${code}: ${message}`, facts: { code } };
}

keepOutOfCores();
// The process that started it may have ended.
process.stdout.on("error", () => {});
const ending = new AbortController();
process.on("SIGTERM", () => ending.abort());
const order = parseOrder(await text(process.stdin));
if (order) {
  const outcome = await carryOut(order, ending.signal).catch(refusal);
  await new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(outcome)}\n`, () => resolve()));
}
process.exit();
