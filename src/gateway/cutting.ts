/**
 * Owns how much of a tool's output an agent gets: the beginning and the end, and a handle to the whole. Long
 * output is a blob of the journal; its hash is the handle, and `read_blob` reads it.
 */
import { isBlobReference } from "../contract/index.ts";
import type { Session } from "../session/index.ts";

/** About four thousand tokens. */
const MAX_ANSWER = 16_000;
const HEAD = 10_000;
const TAIL = 4_000;
/** The journal keeps no more than this. */
const MAX_KEPT = 4 * 1024 * 1024;
/** Handles of calls that are not answered yet. */
const MAX_KNOWN = 64;

export class Cutting {
  /** Ends following the session's records. */
  readonly close: () => void;
  readonly #handles = new Map<string, string>();

  constructor(session: Session) {
    this.close = session.observe((records) => {
      for (const { type, data } of records) {
        const { call, output } = data;
        if (type !== "tool_returned" || typeof call !== "string" || !isBlobReference(output)) continue;
        this.#handles.set(call, output.$blob.sha256);
        const [oldest] = this.#handles.keys();
        if (this.#handles.size > MAX_KNOWN && oldest !== undefined) this.#handles.delete(oldest);
      }
    });
  }

  /** The text for the record. */
  bounded(text: string): string {
    if (text.length <= MAX_KEPT) return text;
    const half = MAX_KEPT / 2;
    const left = text.length - MAX_KEPT;
    return `${text.slice(0, half)}\n[${left} characters were left out]\n${text.slice(-half)}`.toWellFormed();
  }

  /** The text for the agent, after the call is recorded. */
  cut(call: string, text: string): string {
    const handle = this.#handles.get(call);
    this.#handles.delete(call);
    if (text.length <= MAX_ANSWER) return text;
    const left = text.length - HEAD - TAIL;
    const all = handle === undefined ? "" : `; read_blob with handle ${handle} has all of it`;
    return `${text.slice(0, HEAD)}\n[${left} characters were left out${all}]\n${text.slice(-TAIL)}`.toWellFormed();
  }
}
