/**
 * Owns the inbox of a session that a harness drives by itself, without a session process: it takes in
 * messages while the harness asks for them. Everything else there, such as tasks, waits for the next session
 * process.
 */
import { watch } from "node:fs";
import type { Writable } from "node:stream";
import type { Message, Messages } from "../../agent/index.ts";
import { Maildir } from "../../mail/index.ts";
import { inboxDir } from "../../util/index.ts";
import type { Room } from "../room/room.ts";
import { Intake, messagesOnly } from "./intake.ts";
import { MessageDelivery } from "./message-delivery.ts";
import { Named } from "./named.ts";

interface Opened {
  readonly inbox: Maildir;
  readonly intake: Intake;
  readonly feed: MessageDelivery;
}

export class OwnInbox implements Messages {
  readonly #room: Pick<Room, "session" | "sessionDir" | "io">;
  #opening: Promise<Opened> | undefined;

  constructor(room: Pick<Room, "session" | "sessionDir" | "io">) {
    this.#room = room;
  }

  async next(waitMs: number, gone: AbortSignal): Promise<Message | undefined> {
    const { inbox, intake, feed } = await this.#open();
    // The watch begins before the first look, so that no envelope is missed in between.
    const watcher = watch(inbox.newDir, () => {
      intake.look().catch(() => {});
    });
    try {
      await intake.look();
      return await feed.next(waitMs, gone);
    } finally {
      watcher.close();
    }
  }

  async entered(message: string): Promise<void> {
    await (await this.#open()).feed.entered(message);
  }

  open(input: Writable): void {
    this.#open().then(
      async ({ intake, feed }) => {
        feed.open(input);
        await intake.look();
      },
      () => {},
    );
  }

  async close(): Promise<void> {
    if (this.#opening) await (await this.#opening).feed.close();
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#make();
    return this.#opening;
  }

  async #make(): Promise<Opened> {
    const { session, sessionDir, io } = this.#room;
    const inbox = new Maildir(io.disk, inboxDir(sessionDir));
    await inbox.make();
    const named = await Named.read(sessionDir, inbox, session.state);
    const feed = new MessageDelivery(session, named, io.clock);
    session.observe((records) => {
      named.note(records);
      feed.wake();
    });
    return { inbox, feed, intake: new Intake(session, inbox, messagesOnly) };
  }
}
