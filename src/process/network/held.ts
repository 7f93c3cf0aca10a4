/**
 * Owns a network for one piece of work: namespaces that exist while it lasts, and end with it or with us.
 */
import { endHolder, type Holder } from "../holder.ts";
import { startHolder } from "../holder-start.ts";

export async function withNetwork<T>(work: (holder: Holder) => Promise<T>): Promise<T> {
  const results: T[] = [];
  // It is not recorded: while it waits for our word, it ends with us (holder-2).
  const record = async (holder: Holder) => void results.push(await work(holder));
  const holder = await startHolder({ cwd: "/", mark: "", hasNetwork: true, record });
  await endHolder(holder, "");
  return results[0] as T;
}
