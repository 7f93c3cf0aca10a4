/**
 * Owns how work ends that meets a full disk.
 */
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { type Disk, isDiskFull } from "../../util/index.ts";

/**
 * Runs the work. If the disk is full and room could be made, it runs once more; if not, it fails with an
 * error that has a way out. So it is only for work that leaves nothing behind when it fails.
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
