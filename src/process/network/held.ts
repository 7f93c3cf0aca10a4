/**
 * Owns a network for one piece of work: namespaces that are there while it lasts, and gone with it or with us.
 */
import { endHolder, type Holder } from "../holder.ts";
import { startHolder } from "../holder-start.ts";

export async function withNetwork<T>(work: (holder: Holder) => Promise<T>): Promise<T> {
  const results: T[] = [];
  // It is on no record: while it waits for our word, it ends with us (Q1).
  const record = async (holder: Holder) => void results.push(await work(holder));
  const holder = await startHolder({ cwd: "/", mark: "", hasNetwork: true, record });
  await endHolder(holder, "");
  return results[0] as T;
}
