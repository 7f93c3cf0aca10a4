/**
 * Owns how a person gets to the terminal of a session's task: what its process is doing until there is one,
 * the window, and what is printed when the person leaves it.
 */
import type { Dispatcher } from "../dispatch/index.ts";
import { progress } from "./progress.ts";
import { note } from "./screen.ts";
import { type CommonOptions, scope } from "./verb.ts";
import type { NamedSession } from "./which-session.ts";
import { assertWindow, openWindow } from "./window.ts";

/** `request`: of a task that may not have begun yet, whose files may take a while. */
export async function inWindow(
  dispatcher: Dispatcher,
  { id, label }: NamedSession,
  options: CommonOptions,
  request: string | null = null,
): Promise<"left" | "ended"> {
  assertWindow();
  const path = await whenOpen(dispatcher, id, options, request);
  if (path === undefined) return "ended";
  const end = await openWindow(path).catch(() => "ended" as const);
  if (end === "left") note(`\r\nDetached; the program is still running. To return: holdfast attach ${label}`);
  return end;
}

/** Undefined if the task never gets a terminal, or has had one: the journal has the rest. */
async function whenOpen(
  dispatcher: Dispatcher,
  id: string,
  options: CommonOptions,
  request: string | null,
): Promise<string | undefined> {
  const opened = new AbortController();
  const ears = await dispatcher.listen(id, scope(options));
  const telling =
    request === null ? undefined : tellProgress(dispatcher, id, options, request, opened.signal);
  try {
    for (; ; await ears.next()) {
      const path = dispatcher.processOf(id)?.terminal;
      if (path) return path;
      const { task, queue, pid, waits, status } = await dispatcher.show(id, scope(options));
      const isOver = queue === 0 && task !== null && task.outcome !== null;
      const isLeft = pid === null && waits === null && !dispatcher.processOf(id) && status !== "open";
      if (isOver || isLeft) return undefined;
    }
  } finally {
    opened.abort();
    ears.close();
    await telling;
    progress.end();
  }
}

async function tellProgress(
  dispatcher: Dispatcher,
  id: string,
  options: CommonOptions,
  request: string,
  signal: AbortSignal,
): Promise<void> {
  // Records are shown after the window is closed.
  const following = { ...scope(options), request, fromSeq: Number.MAX_SAFE_INTEGER, signal };
  for await (const happening of dispatcher.follow(id, following)) {
    if (happening.kind === "progress" && happening.step) progress.step(happening.step);
    else if (happening.kind === "waits") note(`[queue]   waits: ${happening.reason}`);
  }
}
