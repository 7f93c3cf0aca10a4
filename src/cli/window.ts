/**
 * Owns a window on a session's terminal: it sends keys as they are typed, shows the terminal's output, and
 * sets the terminal's size to its own. Ctrl-] detaches; the program goes on, and the modes of the person's
 * terminal are restored.
 *
 * window-2 What the person's terminal answers to the program is never typed into whatever runs after the
 *          window.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { encodeKeys, encodeSize, TerminalFilter, TerminalModes } from "../host/index.ts";
import { makeRaw } from "../process/index.ts";

const LEAVE_KEY = 0x1d;
/**
 * Answers come in the order of their questions: once ours, whether the terminal is well, is answered, no
 * older answer is still to come.
 */
const STATUS_QUESTION = "\u001b[5n";
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const STATUS_ANSWER = /\u001b\[[03]n/g;
/** Resets the palette and the colours of text, background, cursor and selection to the person's own. */
const OWN_COLOURS = ["104", "110", "111", "112", "117", "119"]
  .map((kind) => `\u001b]${kind}\u001b\\`)
  .join("");
/** How long that answer is waited for: the terminal may be far away, and some never answer. */
const ANSWER_MS = 1500;
/** Input may be on its way although the program asked for nothing: a person types. */
const UNASKED_MS = 100;

export function assertWindow(): void {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new HoldfastError("terminal_missing", "standard input and output are not a terminal");
}

/** `left`: the person detached. `ended`: the program has ended, or its session process. */
export async function openWindow(path: string): Promise<"left" | "ended"> {
  const socket = connect(path);
  await once(socket, "connect");
  let end: "left" | "ended" = "ended";
  const modes = new TerminalModes();
  const filter = new TerminalFilter();
  const answers = new StatusAnswers();
  const resize = () => socket.write(encodeSize(process.stdout.columns, process.stdout.rows));
  const leave = () => {
    end = "left";
    socket.destroy();
  };
  const onKeys = (keys: Buffer) => {
    const at = keys.indexOf(LEAVE_KEY);
    for (const frame of encodeKeys(at < 0 ? keys : keys.subarray(0, at))) socket.write(frame);
    if (at >= 0) leave();
  };
  const signals = ["SIGHUP", "SIGTERM"] as const;
  const restore = makeRaw();
  process.stdin.on("data", onKeys).on("data", answers.read).resume();
  process.stdout.on("resize", resize);
  for (const signal of signals) process.on(signal, leave);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    const shown = filter.pass(chunk);
    modes.take(shown);
    if (process.stdout.write(shown)) return;
    socket.pause();
    process.stdout.once("drain", () => socket.resume());
  });
  resize();
  try {
    await once(socket, "close");
    return end;
  } finally {
    const isTold = filter.asked > 0;
    process.stdin.off("data", onKeys);
    // Switches off all modes that the program has left on, and resets colours that it has set.
    process.stdout.write(modes.off() + (filter.hasColours ? OWN_COLOURS : ""));
    if (isTold) process.stdout.write(STATUS_QUESTION);
    await (isTold ? answers.come(filter.statusAsked + 1) : sleep(UNASKED_MS));
    process.stdin.off("data", answers.read).pause();
    restore();
    process.stdout.off("resize", resize);
    for (const signal of signals) process.off(signal, leave);
  }
}

/** Counts also the terminal's answer to our own question. */
class StatusAnswers {
  #text = "";
  #count = 0;
  #heard = () => {};

  readonly read = (keys: Buffer) => {
    this.#text += keys.toString("latin1");
    const found = [...this.#text.matchAll(STATUS_ANSWER)];
    this.#count += found.length;
    const last = found.at(-1);
    // An answer may come in pieces.
    this.#text = this.#text.slice(last ? last.index + last[0].length : 0).slice(-MAX_ANSWER);
    this.#heard();
  };

  async come(count: number): Promise<void> {
    const patience = new AbortController();
    this.#heard = () => {
      if (this.#count >= count) patience.abort();
    };
    this.#heard();
    await sleep(ANSWER_MS, undefined, { signal: patience.signal }).catch(() => {});
  }
}

const MAX_ANSWER = 8;
