/**
 * Owns a window on a session's terminal: keys go to it as they are typed, what it shows comes back, and its size is
 * that of the window. Ctrl-] goes away; the program stays, and the window is made what it was before.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { encodeKeys, encodeSize, TerminalModes } from "../host/index.ts";
import { makeRaw } from "../process/index.ts";

const LEAVE_KEY = 0x1d;
/** A terminal answers when it likes, and does not say that it has no more to say. */
const ANSWERS_MS = 100;

export function assertWindow(): void {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new HoldfastError("terminal_missing", "this is no terminal");
}

/** `left`: by the key. `ended`: the program is over, or its session process. */
export async function openWindow(path: string): Promise<"left" | "ended"> {
  const socket = connect(path);
  await once(socket, "connect");
  let end: "left" | "ended" = "ended";
  const modes = new TerminalModes();
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
  process.stdin.on("data", onKeys).resume();
  process.stdout.on("resize", resize);
  for (const signal of signals) process.on(signal, leave);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => modes.take(chunk));
  socket.pipe(process.stdout, { end: false });
  resize();
  try {
    await once(socket, "close");
    return end;
  } finally {
    // Whatever the program has left switched on.
    process.stdout.write(modes.off());
    // What the terminal still answers to the program must not be taken for typed by whoever comes next.
    process.stdin.off("data", onKeys).resume();
    await sleep(ANSWERS_MS);
    process.stdin.pause();
    restore();
    process.stdout.off("resize", resize);
    for (const signal of signals) process.off(signal, leave);
  }
}
