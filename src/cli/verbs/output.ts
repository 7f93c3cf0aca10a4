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
    "What a task wrote, both streams as they came and without secrets. It is kept whole up to a limit, 64 MB unless output_mb says otherwise; where it is longer, its end says how much is missing. Of a task that runs: what there is by now, as it was written.",
    ["holdfast output fix-login", "holdfast output fix-login/2 | less", "holdfast output fix-login -f"],
  )
    .argument("<session>", TASK_HELP)
    .option("-f, --follow", "go on until the task is over")
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

/** Its number, when it begins: whoever sends a session off and looks at once comes before its first task does. */
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
  cut: (_of: string) => "not all of it was kept: its end says how much is missing",
  excerpt: (of: string) =>
    `the whole output of ${of} is not kept: this is the beginning and the end that the journal has`,
  goes_on: (of: string) => `${of} is not over`,
} as const;

function plainShow(of: string): Show {
  return {
    output: (chunk) => stream(process.stdout, chunk),
    note: (about) => note(NOTES[about](of)),
    end: () => {},
  };
}

/** A line a piece; a character that two pieces share is in the second. */
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
