/**
 * Owns the reading of an export file that may come from anywhere. It decompresses piece by piece, and never
 * more than was asked for.
 */
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createZstdDecompress } from "node:zlib";
import { HoldfastError } from "../../contract/index.ts";
import { isBadCompression } from "../../journal/index.ts";
import { LINE_FEED } from "../../util/index.ts";
import { invalid, refused } from "./import-manifest.ts";

/**
 * Above this much output, a file that unfolds to more than this many bytes per byte of input is taken for a
 * bomb.
 */
const BOMB_FLOOR_BYTES = 256 * 1024 * 1024;
const BOMB_RATIO = 200;

export interface Input extends AsyncDisposable {
  line(max: number): Promise<Buffer>;
  bytes(count: number): AsyncGenerator<Buffer>;
  /** Fails if anything follows. */
  end(): Promise<void>;
}

/** Reads the decompressed stream piece by piece, and refuses a bomb while it unfolds. */
export async function openInput(file: string): Promise<Input> {
  // Opened first, so that a missing file is an error of its own and not one of the stream.
  const handle = await open(file).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HoldfastError(
      "export_invalid",
      `${file} can't be read: ${reason}`,
      { path: file },
      { cause: error },
    );
  });
  const source = handle.createReadStream();
  const unzip = createZstdDecompress();
  source.on("error", (error) => unzip.destroy(error));
  source.pipe(unzip);
  const chunks = unzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  let outBytes = 0;

  /** Puts the next piece of the stream into `rest`, which has been used up. Returns false at the end. */
  async function more(): Promise<boolean> {
    const step = await chunks.next().catch((error: unknown) => {
      if (isBadCompression(error)) throw invalid("it can't be decompressed");
      throw invalid(error instanceof Error ? error.message : String(error));
    });
    if (step.done) return false;
    outBytes += step.value.length;
    if (outBytes > BOMB_FLOOR_BYTES && outBytes > source.bytesRead * BOMB_RATIO) {
      throw refused("it decompresses to far more than its size allows");
    }
    rest = step.value;
    return true;
  }

  return {
    async line(max) {
      const pieces: Buffer[] = [];
      let length = 0;
      while (length <= max && (await more())) {
        const end = rest.indexOf(LINE_FEED) + 1;
        pieces.push(end > 0 ? rest.subarray(0, end) : rest);
        length += rest.length;
        rest = end > 0 ? rest.subarray(end) : Buffer.alloc(0);
        if (end > 0) return Buffer.concat(pieces);
      }
      throw invalid("it does not begin with a complete manifest");
    },
    async *bytes(count) {
      let missing = count;
      while (missing > 0) {
        if (rest.length === 0 && !(await more())) throw invalid("it ends too early");
        const chunk = rest.subarray(0, missing);
        rest = rest.subarray(chunk.length);
        missing -= chunk.length;
        yield chunk;
      }
    },
    async end() {
      const hasMore = rest.length > 0 || (await more());
      if (hasMore) throw invalid("bytes follow the last file");
    },
    async [Symbol.asyncDispose]() {
      unzip.destroy();
      // The stream closes the handle when nothing reads from it any more.
      if (!source.closed) await once(source.destroy(), "close");
    },
  };
}
