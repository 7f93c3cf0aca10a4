/**
 * Owns the conversion of bytes that are mostly UTF-8 to text and back, without losing any byte. A byte that
 * is not valid UTF-8 becomes a lone surrogate, which valid UTF-8 never gives.
 */
import { isUtf8 } from "node:buffer";

/** Characters in UTF-8, byte by byte. Any other byte above ASCII is not part of a character. */
const CHARACTERS_OR_BYTE =
  /(?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+|[\x80-\xff]/g;
const BYTES_OR_TEXT = /[\udc80-\udcff]+|[^\udc80-\udcff]+/gu;
const LONE = 0xdc00;

/**
 * Decodes bytes that come in chunks. A character that is cut by the end of a chunk waits for the next one.
 */
export class LosslessDecoder {
  #rest = Buffer.alloc(0);

  write(chunk: Buffer): string {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = bytes.length - cutLength(bytes);
    this.#rest = Buffer.from(bytes.subarray(whole));
    return decode(bytes.subarray(0, whole));
  }

  end(): string {
    return decode(this.#rest);
  }
}

function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  return bytes
    .toString("latin1")
    .replace(CHARACTERS_OR_BYTE, (found) =>
      found.length > 1
        ? Buffer.from(found, "latin1").toString("utf8")
        : String.fromCharCode(LONE + found.charCodeAt(0)),
    );
}

export function encodeLossless(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const parts = text.match(BYTES_OR_TEXT) ?? [];
  return Buffer.concat(
    // `latin1` takes the low half of each unit, which is the byte.
    parts.map((part) => Buffer.from(part, /^[\udc80-\udcff]/u.test(part) ? "latin1" : "utf8")),
  );
}

/** How many bytes at the end are the beginning of a character. */
function cutLength(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > count ? count : 0;
  }
  return 0;
}
