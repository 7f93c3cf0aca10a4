import { closeSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { HoldfastError, nameFromCommand, nameFromText, type TaskSpec } from "../../contract/index.ts";
import type { Asked, Dispatcher, SubmitOptions } from "../../dispatch/index.ts";
import { secretsIn, takeOut } from "../../redaction/index.ts";
import { present } from "../../util/index.ts";
import { environmentOf, withEnvironment } from "../environment.ts";
import { withLane } from "../lane-options.ts";
import { lookOn } from "../looking-on.ts";
import { placeInQueue } from "../queue-text.ts";
import {
  type AskedFor,
  agentAsked,
  assertWords,
  commandAsked,
  type RunOptions,
  scriptAsked,
} from "../run-asked.ts";
import { type BeginningPlace, placeOf, tellUnseen, withPlace } from "../run-place.ts";
import { note, say, sayJson } from "../screen.ts";
import { withScript } from "../script-asked.ts";
import { inWindow } from "../session-window.ts";
import { TaskView } from "../task-view.ts";
import { askTrust } from "../trust-question.ts";
import { budgetOf, openDispatcher, parsePositiveCount, scope, stopping, verb, withBudget } from "../verb.ts";
import { labelOf, type NamedSession, sessionOf } from "../which-session.ts";
import { assertWindow } from "../window.ts";

export function command(): Command {
  const run = verb(
    "run",
    "Give an agent a task in plain words, or run a command as a task. The task runs sandboxed in a capsule of its own, starts in the directory that you are in, and ends with a checkpoint. What it changed becomes one commit on the session's branch; your checkout is not touched. The task continues if this terminal closes. Ctrl-C interrupts it; a second Ctrl-C detaches and leaves it running.",
    [
      'holdfast run "fix the login timeout"',
      'holdfast run --session fix-login --continue "and add a test"',
      "holdfast run -i --agent claude",
      "holdfast run --script steps.yaml --var issue=42",
      "holdfast run -- npm test",
      "holdfast run --detach -- make",
      "holdfast run --session fix-login -- make",
      "holdfast run -i -- vim notes.txt",
      "holdfast run --env NPM_TOKEN --env-file .env.agent -- ./agent.sh",
      "holdfast run --repo ../app --base v1.2 -- ./fix.sh",
      "holdfast run --host registry.npmjs.org -- npm install",
    ],
  )
    .argument(
      "[words...]",
      "what the agent should do, in your own words; or, after --, the command to run with its arguments",
    )
    .option(
      "--agent <name>",
      "the agent for a task in plain words (default: agent of settings.yaml, else the first one that is installed and has a key; holdfast agents lists them)",
    )
    .option("--model <name>", "the model to use; PROVIDER/MODEL for an agent with several providers")
    .option(
      "--continue",
      "with --session: continue the conversation of its last task (default: a new conversation that starts with a summary of the session)",
    )
    .option(
      "--session <id>",
      "run a new task in this session, on the files that its last task left; if another task is running, the new one is queued (default: a new session)",
    )
    .option("--repo <dir>", "the repo (default: the one that you are in)")
    .option(
      "--base <ref>",
      "start from this commit, for example origin/main, without the files of earlier tasks (default: what the session's last task left, else base of holdfast.yaml, else HEAD)",
    )
    .option("--fresh", "start from base of holdfast.yaml, else from HEAD, without the files of earlier tasks")
    .option("--name <name>", "the name of the new session and of its branch (default: made from the title)")
    .option("--title <text>", "what the session is about (default: the task's words or command)")
    .option("-d, --detach", "do not wait for the task: print the session's name and return")
    .option("-i, --interactive", "run it in a terminal of its own, which outlives this one; Ctrl-] detaches")
    .option("--messages", "write the session's messages to the command's stdin, one line of JSON each")
    .option(
      "--restart",
      "start the command again when its session is resumed after a crash (by holdfast resume or serve); for commands that can continue where they were",
    )
    .option(
      "--priority <n>",
      "tasks with a higher priority begin earlier, in the session's queue and in the line of all sessions (default: 0)",
      parsePriority,
    )
    .option(
      "--max-memory <mb>",
      "wait while all agents together use more memory than this",
      parsePositiveCount,
    )
    .option("--max-sessions <n>", "wait while this many sessions are running", parsePositiveCount)
    .option(
      "--exit-code",
      "exit with the command's own exit status, or 128 plus the number of the signal that ended it; a status from 1 to 255 may then come from the command or from Holdfast",
    )
    .option(
      "--no-sandbox",
      "run without a sandbox: the command can do everything that you can do; it gets only the harmless variables of your shell",
    );
  withLane(run, "lane of holdfast.yaml, else repo-fix");
  return withBudget(withEnvironment(withPlace(withScript(run)))).action(
    async (words: string[], options: RunOptions) => {
      if (options.interactive && !options.detach) assertWindow();
      if (options.interactive && options.messages)
        throw new HoldfastError("usage", "--interactive and --messages both use stdin: choose one");
      if (options.interactive && options.json && !options.detach)
        throw new HoldfastError(
          "usage",
          "--interactive needs a terminal, and --json is for programs: choose one",
        );
      if (options.exitCode && options.detach)
        throw new HoldfastError("usage", "--exit-code waits for the command, --detach does not: choose one");
      if (options.session !== undefined && options.repo !== undefined)
        throw new HoldfastError("usage", "--repo is for a new session: leave it out with --session");
      if (options.session !== undefined && options.name !== undefined)
        throw new HoldfastError("usage", "--name is for a new session: leave it out with --session");
      if (options.fresh && options.base !== undefined)
        throw new HoldfastError(
          "usage",
          "--fresh begins with the default base, and --base with the commit that it names: choose one",
        );
      const hasCommand = process.argv.includes("--");
      assertWords(words, hasCommand, options);
      const dispatcher = await openDispatcher(options, { create: true });
      const prompt = words.join(" ");
      const asked = hasCommand
        ? commandAsked(words, options)
        : options.script === undefined
          ? await agentAsked(dispatcher, prompt, options)
          : await scriptAsked(options.script, prompt, options);
      await (options.session === undefined
        ? runNew(dispatcher, asked, options)
        : runIn(dispatcher, options.session, asked.spec, options));
    },
  );
}

async function runNew(
  dispatcher: Dispatcher,
  { spec, title, words, definition }: AskedFor,
  options: RunOptions,
): Promise<void> {
  const repo = options.repo ?? ".";
  const env = await environmentOf(options, dispatcher.home.dir, spec.env);
  const secrets = secretsIn(env);
  // Values are looked for before a name is made from these words: that changes their letters, so a value
  // would no longer be found.
  const shown = words.map((word) => takeOut(word, secrets));
  const session = {
    ...scope(options),
    ...(repo !== false && { repo }),
    title: options.title ?? title,
    ...present({ name: options.name, nameFrom: nameSource(shown, options) }),
    ...present({ definition, budget: budgetOf(options) }),
  };
  const place = placeOf(options);
  if (repo !== false) await askTrust(dispatcher, { repo, ...fileOf(spec, place) });
  const begun = await dispatcher.begin(session, spec, {
    ...submitOptions(options),
    ...place,
    env,
  });
  const named = { id: begun.id, label: labelOf(begun) };
  await lookAt(dispatcher, { ...begun, session: named, isNew: true, fromSeq: 0 }, spec, options);
}

/** The first of the texts that has letters which a name can have. */
function nameSource(command: readonly string[], { title, repo }: RunOptions): string | undefined {
  const sources = [title, nameFromCommand(command), basename(resolve(repo || ".")), "session"];
  return sources.find((text) => text !== undefined && nameFromText(text) !== undefined);
}

async function runIn(
  dispatcher: Dispatcher,
  prefix: string,
  spec: TaskSpec,
  options: RunOptions,
): Promise<void> {
  const session = await sessionOf(dispatcher.holdfast, prefix, options);
  await runAgain(dispatcher, session, spec, options, placeOf(options));
}

/** A task in an existing session. */
export async function runAgain(
  dispatcher: Dispatcher,
  session: NamedSession,
  spec: TaskSpec,
  options: RunOptions,
  place: BeginningPlace = {},
): Promise<void> {
  const { id } = session;
  const state = await dispatcher.holdfast.showSession(id, scope(options));
  const { records, user, repo } = state;
  const budget = present({ budget: budgetOf(options) });
  const env = await environmentOf(options, dispatcher.home.dir, spec.env);
  if (repo !== null) await askTrust(dispatcher, { repo, state, ...fileOf(spec, place) });
  const task = await dispatcher.submit(id, spec, {
    ...scope(options),
    ...submitOptions(options),
    ...place,
    ...budget,
    env,
  });
  const waits = placeInQueue(await dispatcher.queue(id, scope(options)), task.request);
  if (waits !== undefined && !options.json) note(`[queue]   ${waits}`);
  await lookAt(dispatcher, { ...task, session, user, isNew: false, fromSeq: records + 1 }, spec, options);
}

/** The user whose settings the task follows. */
function fileOf({ base, isFresh, snapshot }: TaskSpec, { isDirty }: BeginningPlace) {
  return present({ base, isFresh, snapshot, isDirty });
}

function submitOptions({ priority, maxSessions, maxMemory }: RunOptions): SubmitOptions {
  const maxMemoryBytes = maxMemory === undefined ? undefined : maxMemory * 1024 * 1024;
  return present({ priority, maxSessions, maxMemoryBytes });
}

interface Target extends Asked {
  readonly session: NamedSession;
  readonly user: string;
  /** A session that was made for this task is removed again if the task can't be started. */
  readonly isNew: boolean;
  readonly fromSeq: number;
}

/** Shows the task on this terminal, unless --detach was given. */
async function lookAt(
  dispatcher: Dispatcher,
  { session, user, request, outputFd, isNew, fromSeq, unseen }: Target,
  spec: TaskSpec,
  options: RunOptions,
): Promise<void> {
  const { id, label } = session;
  const named = { session: id, name: label === id ? null : label, request };
  if (options.detach && options.json) {
    closeSync(outputFd);
    return sayJson({ ...named, ...present({ unseen: await unseen() }) });
  }
  if (options.detach) {
    closeSync(outputFd);
    say(label);
    await tellUnseen({ unseen }, options);
    return note(
      `The task runs in the background. Watch it: holdfast attach ${label}. Its history: holdfast log ${label}.`,
    );
  }
  const wasShown = spec.agent.input === "terminal";
  const view = new TaskView({ session, user, json: options.json ?? false, request, wasShown });
  view.tell("session", named, label === id ? id : `${label} ${id}`);
  const telling = tellUnseen({ unseen }, options);
  if (wasShown) await telling;
  if (wasShown && (await inWindow(dispatcher, session, options, request)) === "left")
    return closeSync(outputFd);
  const mayAsk = !options.json;
  const looking = { session, ...scope(options), view, request, outputFd, fromSeq, mayAsk };
  try {
    const status = await lookOn(dispatcher, looking);
    await telling;
    process.exitCode = options.exitCode ? view.statusWithin(status) : status;
  } catch (error) {
    if (isNew && view.isRefused) await discard(dispatcher, session, options);
    throw error;
  }
}

/** Removes a session that was opened for a task that can't be started. */
async function discard(
  dispatcher: Dispatcher,
  { id, label }: NamedSession,
  options: RunOptions,
): Promise<void> {
  const { holdfast } = dispatcher;
  const discarding = dispatcher.withoutProcess(id, stopping(options, label), async () => {
    const session = await holdfast.resumeSession(id, { ...scope(options), files: false });
    if (!(await holdfast.discardUnused(session))) await session.pause();
  });
  // The reason why the task was refused is what the person has to know, not a failure to remove the session.
  await discarding.catch(() => undefined);
}

function parsePriority(text: string): number {
  if (/^-?\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("give a whole number.");
}
