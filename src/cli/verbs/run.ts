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
import { type AskedFor, agentAsked, assertWords, commandAsked, type RunOptions } from "../run-asked.ts";
import { type BeginningPlace, placeOf, tellUnseen, withPlace } from "../run-place.ts";
import { note, say, sayJson } from "../screen.ts";
import { inWindow } from "../session-window.ts";
import { TaskView } from "../task-view.ts";
import { askTrust } from "../trust-question.ts";
import { budgetOf, openDispatcher, parsePositiveCount, scope, stopping, verb, withBudget } from "../verb.ts";
import { labelOf, type NamedSession, sessionOf } from "../which-session.ts";
import { assertWindow } from "../window.ts";

export function command(): Command {
  const run = verb(
    "run",
    "Give an agent a task in plain words, or run a command as one: in a capsule of its own, sandboxed, with a checkpoint at its end. What it changed becomes one commit on the session's branch; the checkout is not touched. It starts in the directory that you are in, as the capsule has it, in a process of its session that outlives this terminal. Ctrl-C interrupts it, a second one leaves it to itself.",
    [
      'holdfast run "fix the login timeout"',
      'holdfast run --session fix-login --continue "and add a test"',
      "holdfast run -i --agent claude",
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
      "what an agent is asked to do, in your own words; or, behind --, the command to run: everything after -- belongs to it",
    )
    .option(
      "--agent <name>",
      "the agent for a task of plain words (default: agent of settings.yaml, else the first that is here and has a key; holdfast agents lists them)",
    )
    .option("--model <name>", "the model that the agent uses, PROVIDER/MODEL for agents that know several")
    .option(
      "--continue",
      "with --session: go on in the conversation of its last task, not in a fresh one that is told what happened",
    )
    .option(
      "--session <id>",
      "a new task in this session, on what its last one left; queued while one runs (default: a new session)",
    )
    .option("--repo <dir>", "the repo (default: where you are)")
    .option(
      "--base <ref>",
      "begin clean, with this commit, origin/main say (default: what the session's last task left, else base of holdfast.yaml, else HEAD)",
    )
    .option(
      "--fresh",
      "begin clean, with base of holdfast.yaml, else HEAD, whatever the session's last task left",
    )
    .option("--name <name>", "what a new session is called, and its branch (default: made from the title)")
    .option("--title <text>", "what it is about (default: the command)")
    .option("-d, --detach", "do not wait for it: say which session, and return")
    .option("-i, --interactive", "in a terminal of its own, which outlives this one; Ctrl-] leaves it")
    .option("--messages", "feed it the session's messages on its standard input, a line of JSON each")
    .option(
      "--restart",
      "start it again when its session is resumed after a crash, by holdfast resume or serve: for loops that know how to go on",
    )
    .option(
      "--priority <n>",
      "earlier than others, in the session's queue and where sessions wait for a free place (default: 0)",
      parsePriority,
    )
    .option("--max-memory <mb>", "wait while our agents need more than this together", parsePositiveCount)
    .option("--max-sessions <n>", "wait while so many sessions run", parsePositiveCount)
    .option(
      "--exit-code",
      "end with the command's own exit status, 128 and the signal's number for a signal: then 1 to 255 may be its status or one of ours",
    )
    .option(
      "--no-sandbox",
      "without a wall: the command can do whatever you can, but gets no secrets of your shell",
    );
  withLane(run, "lane of holdfast.yaml, else repo-fix");
  return withBudget(withEnvironment(withPlace(run))).action(async (words: string[], options: RunOptions) => {
    if (options.interactive && !options.detach) assertWindow();
    if (options.interactive && options.messages)
      throw new HoldfastError("usage", "--interactive and --messages are two ways to feed it: choose one");
    if (options.interactive && options.json && !options.detach)
      throw new HoldfastError("usage", "--interactive shows a terminal, --json is for programs: choose one");
    if (options.exitCode && options.detach)
      throw new HoldfastError("usage", "--exit-code waits for the command, --detach does not: choose one");
    if (options.session !== undefined && options.repo !== undefined)
      throw new HoldfastError("usage", "a session keeps its repo: --repo goes with a new one");
    if (options.session !== undefined && options.name !== undefined)
      throw new HoldfastError("usage", "a session keeps its name: --name goes with a new one");
    if (options.fresh && options.base !== undefined)
      throw new HoldfastError(
        "usage",
        "--fresh begins with HEAD, --base with the commit that it names: choose one",
      );
    const hasCommand = process.argv.includes("--");
    assertWords(words, hasCommand, options);
    const dispatcher = await openDispatcher(options, { create: true });
    const asked = hasCommand
      ? commandAsked(words, options)
      : await agentAsked(dispatcher, words.join(" "), options);
    await (options.session === undefined
      ? runNew(dispatcher, asked, options)
      : runIn(dispatcher, options.session, asked.spec, options));
  });
}

async function runNew(
  dispatcher: Dispatcher,
  { spec, title, words, definition }: AskedFor,
  options: RunOptions,
): Promise<void> {
  const repo = options.repo ?? ".";
  const env = await environmentOf(options, dispatcher.home.dir, spec.env);
  const secrets = secretsIn(env);
  // Before a name is made of them: that changes their letters, and no value would be found there.
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

/** The first that has letters which a name can have. */
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

/** A task in a session that is there. */
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

/** Whose file the task goes by. */
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
  /** Made for this task: not left behind if it can't be started. */
  readonly isNew: boolean;
  readonly fromSeq: number;
}

/** Looks on, unless it is to be left to itself. */
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
    return note(`it goes on by itself: holdfast attach ${label} looks on, holdfast log ${label} tells`);
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

/** A session that was opened for a task that can't be started is not left behind. */
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
  // Why the task was refused is what the person has to know.
  await discarding.catch(() => undefined);
}

function parsePriority(text: string): number {
  if (/^-?\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("a whole number is needed.");
}
