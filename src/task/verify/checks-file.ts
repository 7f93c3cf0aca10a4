/**
 * Owns the artifact `checks.json`: the receipts of the tree that a task ended with, for those who read no journal. It is
 * made from the journal, which is what counts.
 */
import { writeFile } from "node:fs/promises";
import { readRecords } from "../../session/index.ts";
import { writeArtifact } from "../results/artifact.ts";
import type { Room } from "../room/room.ts";
import { readReceipts } from "./receipts.ts";

export const CHECKS_FILE = "checks.json";

export async function writeChecks(
  { session, sessionDir, io }: Room,
  { task, tree }: { readonly task: number; readonly tree: string },
): Promise<void> {
  const { receipts, verification } = await readReceipts(readRecords(sessionDir), task);
  const { verdict = "unverified", skipped = [], watched = [], uncovered = [] } = verification ?? {};
  const checks = receipts
    .filter((receipt) => receipt.tree === tree)
    .map(({ output, seq, ...receipt }) => ({
      ...receipt,
      record: seq,
      outputBytes: Buffer.byteLength(output),
    }));
  const text = `${JSON.stringify({ task, tree, verdict, checks, skipped, watched, uncovered }, null, 2)}\n`;
  await writeArtifact({ session, sessionDir, disk: io.disk }, { task, name: CHECKS_FILE }, async (path) => {
    await writeFile(path, text, { mode: 0o600, flush: true });
    return {};
  });
}
