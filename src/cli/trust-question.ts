/**
 * Owns the question whether what a repo's file asks for may count: before a task begins, on a terminal, with
 * every word that is new. It is asked once for each such file; a no is remembered, too, and the task runs
 * without. Where no answer is possible, the task runs without, and a line says so.
 */
import type { Dispatcher } from "../dispatch/index.ts";
import { decideOnFile, type RepoFile, readRepoFile, type WhichFile } from "../task/index.ts";
import { ask, canAsk } from "./ask.ts";
import { note } from "./screen.ts";
import { wideningLines } from "./widening-text.ts";

export async function askTrust({ home }: Dispatcher, which: WhichFile): Promise<void> {
  if (!canAsk()) return;
  const file = await readRepoFile(home, which);
  if (file.open.length === 0 || file.isDeclined) return;
  await decideOnFile(home, file, (await askAbout(file)) ? "accept" : "decline");
}

/** Shows what is new. */
export function tellOpen({ open, widenings }: RepoFile): void {
  const isSome = open.length < widenings.length;
  note(
    `holdfast.yaml of this repo asks for ${isSome ? "more than you have accepted" : "more than a task gets by default"}:`,
  );
  for (const line of wideningLines(open)) note(line);
}

export function askAbout(file: RepoFile): Promise<boolean> {
  tellOpen(file);
  return ask("accept it, for this repo on this machine?");
}
