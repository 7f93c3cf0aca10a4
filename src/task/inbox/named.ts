/**
 * Owns the content of records that the fold keeps only the ids of: the queued tasks, the task under way, and
 * the unread messages.
 */
import type { Message } from "../../agent/index.ts";
import { HoldfastError, type JournalRecord, parseTaskSpec, type TaskSpec } from "../../contract/index.ts";
import { loadLongFields, readDurable } from "../../journal/index.ts";
import { decodeEnvelope, type Maildir } from "../../mail/index.ts";
import { findLastRecord, requestsDue, type SessionState, textIn } from "../../session/index.ts";
import { present } from "../../util/index.ts";

export class Named {
  readonly #sessionDir: string;
  readonly #inbox: Maildir;
  readonly #records = new Map<string, JournalRecord>();

  private constructor(sessionDir: string, inbox: Maildir) {
    this.#sessionDir = sessionDir;
    this.#inbox = inbox;
  }

  /** Reads the journal once, if there are any of these; long texts are read only when they are asked for. */
  static async read(sessionDir: string, inbox: Maildir, state: SessionState): Promise<Named> {
    const named = new Named(sessionDir, inbox);
    const wanted = new Set([...requestsDue(state), ...state.unread.map(({ message }) => message)]);
    if (wanted.size === 0) return named;
    for await (const { record } of readDurable(sessionDir)) {
      const name = nameIn(record);
      if (name !== undefined && wanted.has(name)) named.#records.set(name, record);
    }
    return named;
  }

  note(records: readonly JournalRecord[]): void {
    for (const record of records) {
      const name = nameIn(record);
      if (name !== undefined) this.#records.set(name, record);
      if (record.type === "message_entered_context") this.#records.delete(textIn(record.data["message"]));
      if (record.type === "task_refused") this.#records.delete(textIn(record.data["request"]));
    }
  }

  /**
   * The task as it was sent, if that file still exists. In the record, secrets are removed, so the command
   * may differ.
   */
  async spec(request: string): Promise<TaskSpec> {
    const bytes = await this.#inbox.readTaken(request);
    const envelope = bytes && decodeEnvelope(bytes);
    if (envelope?.kind === "task") return envelope.spec;
    const record = this.#records.get(request);
    if (record) assertWhole(record);
    return parseTaskSpec((await this.#data(request))["spec"]);
  }

  async message(message: string): Promise<Message> {
    const data = await this.#data(message);
    const at = this.#records.get(message)?.at ?? "";
    const about = typeof data["about"] === "string" ? data["about"] : undefined;
    return { message, from: textIn(data["from"]), text: textIn(data["text"]), at, ...present({ about }) };
  }

  async sent(message: string): Promise<{ readonly to: string; readonly text: string } | undefined> {
    const record = await findLastRecord(
      this.#sessionDir,
      ({ type, data }) => type === "message_sent" && data["message"] === message,
    );
    return record && { to: textIn(record.data["to"]), text: textIn(record.data["text"]) };
  }

  async #data(name: string): Promise<JournalRecord["data"]> {
    const record = this.#records.get(name);
    return record ? loadLongFields(this.#sessionDir, record) : {};
  }
}

/** If a secret was removed from a command, the record has another command than the one that was asked for. */
export function assertWhole({ redacted }: JournalRecord): void {
  if (redacted === undefined || redacted.length === 0) return;
  throw new HoldfastError(
    "secret_not_kept",
    "the command contained a secret, which is not stored, so it can't be run again from its record: send it as a new task",
  );
}

function nameIn({ type, data }: JournalRecord): string | undefined {
  if (type === "task_queued") return textIn(data["request"]);
  return type === "message_received" ? textIn(data["message"]) : undefined;
}
