/**
 * Owns typing into a session's terminal from outside, for an agent that reads its keyboard and not its inbox.
 * The text goes to the session process over the terminal's socket, never through a file. So a secret in it
 * reaches the terminal, and the journal has the text, and who typed it, without the secret.
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
  /** The message under which the text is recorded. */
  readonly message: string;
}

/** A program could take these for keys, and keys are for a window. Tabs and line ends are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

/** Resolves when the text is typed and recorded. */
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
  // The end of the last line is left out, because Enter follows.
  const words = isEntered ? text.replace(/[\r\n]+$/, "") : text;
  if (text === "" && !isEntered)
    throw new HoldfastError("invalid_data", "text: it is empty, and there is no Enter to press");
  if (CONTROLS.test(text))
    throw new HoldfastError(
      "invalid_data",
      "text: it has control characters, which can't be typed this way; to press keys, use holdfast attach",
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

/** Until the session process ends the connection, because it has done what it could. */
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
    // Its program has just ended.
  }
}
