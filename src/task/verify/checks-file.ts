/**
 * Owns the form of the artifact `checks.json`: the receipts of the tree that a task ended with, for programs
 * that do not read journals. It is made from the journal, which remains the truth.
 */
import type { TaskReceipts } from "./receipts.ts";

export const CHECKS_FILE = "checks.json";

export function checksText(
  { receipts, verification }: TaskReceipts,
  { task, tree }: { readonly task: number; readonly tree: string },
): string {
  const { verdict = "unverified", skipped = [], watched = [], uncovered = [], more } = verification ?? {};
  const checks = receipts
    .filter((receipt) => receipt.tree === tree)
    .map(({ output, seq, into: _, ...receipt }) => ({
      ...receipt,
      record: seq,
      outputBytes: Buffer.byteLength(output),
    }));
  return `${JSON.stringify({ task, tree, verdict, checks, skipped, watched, uncovered, more }, null, 2)}\n`;
}
