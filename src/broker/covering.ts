/**
 * Owns the covering of a credential in a provider's error: some providers repeat the key that they were sent. Stars
 * replace it, one for each character, so that the length of the answer stays the same.
 */
import { Transform } from "node:stream";

const STAR = 0x2a;

/** Passes bytes on. It holds back as many as a credential may have begun with at the end of a piece. */
export function covering(secret: string): Transform {
  const sought = Buffer.from(secret);
  let kept = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const bytes = Buffer.concat([kept, chunk]);
      for (let at = bytes.indexOf(sought); at >= 0; at = bytes.indexOf(sought, at))
        bytes.fill(STAR, at, at + sought.length);
      const whole = Math.max(0, bytes.length - sought.length + 1);
      kept = bytes.subarray(whole);
      done(null, bytes.subarray(0, whole));
    },
    flush(done) {
      done(null, kept);
    },
  });
}

export const covered = (text: string, secret: string) => text.replaceAll(secret, "*".repeat(secret.length));
