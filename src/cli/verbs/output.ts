import { StringDecoder } from "node:string_decoder";
import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import type { Dispatcher } from "../../dispatch/index.ts";
import { note, sayJson, stream } from "../screen.ts";
import { resolveTarget, TASK_HELP } from "../target.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

type Options = CommonOptions & { readonly follow?: boolean };

export function command(): Command {
  return verb(
    "output",
    "Print what a task's commands wrote to stdout and stderr, in the order in which it came, without secrets. Up to 64 MB are kept (output_mb changes that); the end of a longer output says how much is missing. While a task runs, its output so far is printed as it was written.",
    ["holdfast output fix-login", "holdfast output fix-login/2 | less", "holdfast output fix-login -f"],
  )
    .argument("<session>", TASK_HELP)
    .option("-f, --follow", "keep printing until the task is over")
    .action(async (target: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { id, label, task: latest } = await resolveTarget(dispatcher, target, options);
      const stop = new AbortController();
      if (options.follow) process.once("SIGINT", () => stop.abort());
      const task =
        latest ?? (options.follow ? await firstTask(dispatcher, id, options, stop.signal) : undefined);
      if (task === undefined) throw new HoldfastError("no_task", `${label} has had no task yet`);
      const wanted = { ...scope(options), task, follow: options.follow ?? false, signal: stop.signal };
      const show = options.json ? jsonShow(id, task) : plainShow(`${label}/${task}`);
      for await (const part of dispatcher.output(id, wanted)) {
        if (part.kind === "output") show.output(part.chunk);
        else show.note(part.about);
      }
      show.end();
    });
}

/**
 * Waits for the task's number, because a person who starts a session and looks at once may come before its
 * first task has begun.
 */
async function firstTask(
  dispatcher: Dispatcher,
  id: string,
  options: Options,
  signal: AbortSignal,
): Promise<number | undefined> {
  const following = { ...scope(options), fromSeq: 0, request: null, signal };
  for await (const happening of dispatcher.follow(id, following)) {
    if (happening.kind !== "record") continue;
    const { type, data } = happening.record;
    if (type === "task_started") return Number(data["task"]);
    if (type === "task_refused")
      throw new HoldfastError("no_task", `the task of session ${id} did not begin: ${data["reason"]}`);
  }
  return undefined;
}

interface Show {
  output(chunk: Buffer): void;
  note(about: keyof typeof NOTES): void;
  end(): void;
}

const NOTES = {
  cut: (_of: string) => "not all of the output was kept: its end says how much is missing",
  excerpt: (of: string) =>
    `the whole output of ${of} was not kept: this is its beginning and its end, from the journal`,
  goes_on: (of: string) => `${of} is still running`,
} as const;

function plainShow(of: string): Show {
  return {
    output: (chunk) => stream(process.stdout, chunk),
    note: (about) => note(NOTES[about](of)),
    end: () => {},
  };
}

/** Prints line by line. A character whose bytes are in two chunks is printed with the second. */
function jsonShow(session: string, task: number): Show {
  const decoder = new StringDecoder("utf8");
  const tell = (text: string) => {
    if (text !== "") sayJson({ session, task, text });
  };
  return {
    output: (chunk) => tell(decoder.write(chunk)),
    note: (about) => sayJson({ session, task, note: about }),
    end: () => tell(decoder.end()),
  };
}
