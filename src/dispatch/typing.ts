/**
 * Owns typing into a session's terminal from afar: for an agent that reads its keyboard and not its inbox. What is
 * typed goes to its process over the terminal's socket, never through a file; so a secret in it reaches the terminal,
 * while the journal says who typed what without it.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { HoldfastError } from "../contract/index.ts";
import { type FoundSession, type Home, readProcessRecord } from "../home/index.ts";
import { encodeText, type TypedText } from "../host/index.ts";
import { findLastRecord } from "../session/index.ts";

export interface TypeOptions {
  /** Who types it. Default: the user. */
  readonly from?: string;
  /** Whether Enter follows. Default: it does. */
  readonly isEntered?: boolean;
}

export interface Typed {
  /** The message that it is on record as. */
  readonly message: string;
}

/** A program could take these for keys: they are pressed in a window. Tabs and ends of lines are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

/** Resolves when it is typed, and on record. */
export async function typeText(
  home: Home,
  found: FoundSession,
  text: string,
  { from = `user:${found.user}`, isEntered = true }: TypeOptions = {},
): Promise<Typed> {
  const path = readProcessRecord(found.dir)?.terminal;
  if (!path)
    throw new HoldfastError(
      "no_terminal",
      `session ${found.id} has no terminal: nothing interactive runs in it`,
    );
  // The end of the last line is what Enter is for.
  const words = isEntered ? text.replace(/[\r\n]+$/, "") : text;
  if (text === "" && !isEntered) throw new HoldfastError("invalid_data", "text: there is nothing to type");
  if (CONTROLS.test(text))
    throw new HoldfastError(
      "invalid_data",
      "text: control characters can't be typed; holdfast attach takes keys",
    );
  const message = home.newId("msg");
  await say(path, { message, from, text: words, isEntered });
  const isTyped = await findLastRecord(
    found.dir,
    ({ type, data }) => type === "message_entered_context" && data["message"] === message,
  );
  if (!isTyped)
    throw new HoldfastError("no_terminal", `the terminal of session ${found.id} is gone: nothing was typed`);
  return { message };
}

/** Until its process ends the connection, because it has done what it could. */
async function say(path: string, typed: TypedText): Promise<void> {
  const frame = encodeText(typed);
  const socket = connect(path);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  try {
    await once(socket, "connect");
    socket.on("error", () => {});
    socket.resume().write(frame);
    await closed;
  } catch {
    // Its program has ended just now.
  }
}
