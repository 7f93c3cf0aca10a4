/**
 * Owns what becomes of work that meets a full disk.
 */
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { type Disk, isDiskFull } from "../../util/index.ts";

/**
 * What the disk says when it is full, as an error with a way out; but first once more, when there was room to be
 * made. So it is only for work that leaves nothing when it fails.
 */
export async function orDiskFull<T>(disk: Disk, work: () => Promise<T>): Promise<T> {
  const isFull = (error: unknown) => isDiskFull(error) || isHoldfastError(error, "disk_full");
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work();
    } catch (error) {
      if (isFull(error) && !isAgain && (await disk.makeRoom())) continue;
      throw isDiskFull(error)
        ? new HoldfastError("disk_full", "the disk is full", {}, { cause: error })
        : error;
    }
  }
}
