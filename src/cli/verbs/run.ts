import type { Command } from "commander";
import { exitStatus } from "../../contract/index.ts";
import type { Holdfast } from "../../home/index.ts";
import type { Session } from "../../session/index.ts";
import type { Task, TaskOptions } from "../../task/index.ts";
import { present, printable } from "../../util/index.ts";
import { note, plural, sayJson, stream } from "../screen.ts";
import {
  type BudgetOptions,
  budgetOf,
  type CommonOptions,
  openHome,
  scope,
  verb,
  withBudget,
} from "../verb.ts";

type Options = CommonOptions &
  BudgetOptions & {
    readonly session?: string;
    readonly repo?: string;
    readonly base?: string;
    readonly title?: string;
    readonly sandbox: boolean;
  };

export function command(): Command {
  const run = verb(
    "run",
    "Run a command as a task: in a capsule of its own, sandboxed, with a checkpoint at its end. What it changed\nbecomes a branch of the repo, as one commit; the checkout is not touched. It runs at the top of the repo, with\nno standard input.",
    [
      "holdfast run -- npm test",
      "holdfast run --session 01k -- make",
      "holdfast run --repo ../app --base v1.2 -- ./fix.sh",
    ],
  )
    .argument("<command...>", "what to run; everything after -- belongs to it")
    .option(
      "--session <id>",
      "a new task in this session, on what its last one left (default: a new session)",
    )
    .option("--repo <dir>", "the repo (default: where you are)")
    .option(
      "--base <ref>",
      "the commit that the task begins with (default: the session's own work, else HEAD)",
    )
    .option("--title <text>", "what it is about (default: the command)")
    .option("--no-sandbox", "without a wall: the command can do whatever you can");
  return withBudget(run).action(async (words: string[], options: Options) => {
    const home = await openHome(options, { create: true });
    const stop = new AbortController();
    const interrupt = () => stop.abort();
    // However often: the first one ends the command, and what it did is kept before we go.
    for (const signal of SIGNALS) process.on(signal, interrupt);
    // A reader that has seen enough is no reason to leave a task alone.
    process.stdout.removeAllListeners("error").on("error", () => {});
    try {
      process.exitCode = await runTask(home, words, options, stop.signal);
    } finally {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    }
  });
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

async function runTask(
  home: Holdfast,
  words: readonly string[],
  options: Options,
  signal: AbortSignal,
): Promise<number> {
  const tell = (stage: string, facts: Record<string, unknown>, text: string) => {
    if (options.json) sayJson({ stage, ...facts });
    else note(`[${stage}]`.padEnd(10) + printable(text));
  };
  await using session = options.session
    ? await home.resumeSession(await home.resolveId(options.session, scope(options)), {
        ...scope(options),
        ...present({ budget: budgetOf(options) }),
        // The task brings its own.
        files: false,
      })
    : await home.openSession({
        ...scope(options),
        repo: await home.resolveRepo(options.repo ?? "."),
        title: options.title ?? words.join(" ").slice(0, 200),
        ...present({ budget: budgetOf(options) }),
      });
  const startedMs = performance.now();
  let isSetUp = false;
  const task = await startOrDiscard(home, session, options.session === undefined, {
    signal,
    ...present({ base: options.base }),
    sandbox: options.sandbox,
    onSetup: (chunk) => {
      if (!isSetUp) tell("setup", {}, "capsule.setup runs, once for this base");
      isSetUp = true;
      if (!options.json) stream(process.stderr, chunk);
    },
  });
  const { number, capsule } = task;
  const { strategy, base, ports } = capsule.spec;
  tell(
    "router",
    { session: session.id, task: number, user: session.state.user },
    `session=${session.id} task=${number} scope=user:${session.state.user}`,
  );
  const ms = Math.round(performance.now() - startedMs);
  const shownPorts = Object.entries(ports)
    .map(([name, port]) => ` ${name}=${port}`)
    .join("");
  tell(
    "capsule",
    { strategy, base, ports, ms },
    `${strategy} base=${base?.slice(0, 12) ?? "(no commit)"} ready in ${ms} ms${shownPorts}`,
  );
  for (const path of task.missingIncludes)
    tell("capsule", { missing: path }, `capsule.include: ${path} is not there`);
  if (!options.sandbox) tell("sandbox", { waived: true }, "waived: the command can do whatever you can");

  const turn = await task.runTurn(words, {
    signal,
    onOutput: (chunk, name) => {
      if (options.json) sayJson({ stage: "output", stream: name, text: chunk.toString("utf8") });
      else stream(name === "stdout" ? process.stdout : process.stderr, chunk);
    },
  });
  const outcome = turn.isInterrupted ? "cancelled" : turn.exitCode === 0 ? "done" : "failed";
  const end = await task.end(outcome);
  const { files, insertions, deletions } = end.stat;
  const ended = turn.isInterrupted ? "interrupted" : `exit ${turn.exitCode ?? turn.signal}`;
  tell(
    "agent",
    { ...turn, files, insertions, deletions },
    `${ended}, ${plural(files, "file")} changed, +${insertions} -${deletions}`,
  );
  if (end.omitted.length > 0)
    tell(
      "snapshot",
      { omitted: end.omitted },
      `${plural(end.omitted.length, "ignored file")} beyond max_ignored_mb left out`,
    );
  const published = end.branch
    ? `branch ${end.branch}`
    : files === 0
      ? "nothing to publish"
      : `not published; holdfast diff ${session.id} shows it`;
  tell("persist", { ...end }, `tree=${end.tree.slice(0, 12)} ${published}`);
  if (turn.isInterrupted) return exitStatus.interrupted;
  return outcome === "done" ? exitStatus.done : exitStatus.failed;
}

/** A session that was opened for a task that can't be started is not left behind. */
async function startOrDiscard(
  home: Holdfast,
  session: Session,
  isNew: boolean,
  options: TaskOptions,
): Promise<Task> {
  try {
    return await home.startTask(session, options);
  } catch (error) {
    if (isNew) await home.discardUnused(session);
    throw error;
  }
}
