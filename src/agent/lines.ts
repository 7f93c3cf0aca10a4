/**
 * Owns splitting an agent's output into lines of JSON. A line that is too long ends the agent's work, to
 * protect Holdfast's memory. Lines that are not JSON are skipped, because some agents write warnings between
 * their messages.
 */
import { HoldfastError, type JsonObject } from "../contract/index.ts";
import { parseObject } from "../util/index.ts";

/** A picture that a tool returned is on one line. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

export class JsonLines {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Returns the messages that these bytes complete. */
  push(chunk: Buffer): JsonObject[] {
    const messages: JsonObject[] = [];
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      this.#add(rest.subarray(0, end));
      const message = parseObject(Buffer.concat(this.#parts).toString("utf8"));
      if (message) messages.push(message as JsonObject);
      this.#parts = [];
      this.#bytes = 0;
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
    return messages;
  }

  #add(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_LINE_BYTES)
      throw new HoldfastError("agent_failed", `it wrote a line of more than ${MAX_LINE_BYTES} bytes`);
    // Copied, because the buffer belongs to the stream.
    if (part.length > 0) this.#parts.push(Buffer.from(part));
  }
}
