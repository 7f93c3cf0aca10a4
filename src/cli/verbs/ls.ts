import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { type Dispatcher, type SessionView, type Standing, standings } from "../../dispatch/index.ts";
import { printable } from "../../util/index.ts";
import { ago, clip, note, paint, say, sayJson, tableLines } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

type Options = CommonOptions & {
  readonly all?: boolean;
  readonly repo?: string;
  readonly standing?: string;
  readonly watch?: boolean;
};

const COLOURS: Partial<Record<Standing, Parameters<typeof paint>[0]>> = {
  working: "green",
  queued: "cyan",
  "waiting for you": "yellow",
  failed: "red",
  interrupted: "magenta",
  parked: "yellow",
  damaged: "red",
  closed: "dim",
  archived: "dim",
};
const OVER: readonly Standing[] = ["closed", "archived"];
const HEADS = ["NAME", "STATUS", "REPO", "BRANCH", "LANE", "FILES", "COST", "LAST", "TITLE"];
/** The sessions of a home share no bell, so --watch looks again this often. */
const LOOK_MS = 500;
const TITLE_LENGTH = 60;
const WHY_LENGTH = 40;
/** Moves to the top of the screen, and clears what is below. */
const REDRAW = "\u001b[H\u001b[J";

export function command(): Command {
  return verb(
    "ls",
    "List sessions, oldest first, each with its state and what it has done. Closed and archived sessions are left out unless you give --all.",
    [
      "holdfast ls",
      "holdfast ls --repo . --watch",
      "holdfast ls --standing failed,interrupted",
      "holdfast ls --all --json",
    ],
  )
    .option("--all", "include closed and archived sessions")
    .option("--repo <dir>", "only sessions of this repo")
    .addOption(
      new Option(
        "--standing <list>",
        `only sessions that stand in one of these ways, separated by commas: ${standings.map(typed).join(", ")}`,
      ),
    )
    .option("--watch", "keep showing changes, until Ctrl-C")
    .action(async (options: Options) => {
      const dispatcher = await openDispatcher(options);
      const list = await listing(dispatcher, options);
      if (options.watch) return watch(list, options);
      const { sessions, isAny, atMs } = await list();
      if (options.json) return sayJson(sessions);
      if (sessions.length === 0) return note(emptyText(isAny, options));
      for (const line of tableLines(rowsOf(sessions, atMs))) say(line);
    });
}

interface Listed {
  readonly sessions: readonly SessionView[];
  /** Whether the scope has any sessions, shown or not. */
  readonly isAny: boolean;
  readonly atMs: number;
}

async function listing(dispatcher: Dispatcher, options: Options): Promise<() => Promise<Listed>> {
  const repo = options.repo === undefined ? undefined : await dispatcher.holdfast.resolveRepo(options.repo);
  const wanted = options.standing === undefined ? undefined : parseStandings(options.standing);
  const isShown = (one: SessionView) => {
    if (repo !== undefined && one.repo !== repo) return false;
    return wanted ? wanted.includes(one.standing) : options.all || !OVER.includes(one.standing);
  };
  return async () => {
    const all = await dispatcher.list(scope(options));
    const atMs = dispatcher.home.io.clock.nowMs();
    return { sessions: all.filter(isShown), isAny: all.length > 0, atMs };
  };
}

/** One word, so that a shell needs no quotes. The form with spaces is understood, too. */
const typed = (standing: Standing) =>
  standing === "waiting for you" ? "waiting" : standing.replaceAll(" ", "-");

function parseStandings(text: string): Standing[] {
  return text.split(",").map((word) => {
    const found = standings.find((one) => one === word.trim() || typed(one) === word.trim());
    if (found) return found;
    throw new HoldfastError(
      "usage",
      `--standing: ${JSON.stringify(word)} is no standing; the standings are ${standings.map(typed).join(", ")}`,
    );
  });
}

function emptyText(isAny: boolean, { repo, standing }: Options): string {
  if (!isAny) return "no sessions yet; holdfast run makes one";
  return repo === undefined && standing === undefined
    ? "all sessions are closed; holdfast ls --all lists them"
    : "no session matches; holdfast ls --all lists all of them";
}

async function watch(list: () => Promise<Listed>, options: Options): Promise<void> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  for (
    let shown = "";
    !stop.signal.aborted;
    await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {})
  ) {
    const { sessions, isAny, atMs } = await list();
    const text = options.json
      ? JSON.stringify(sessions)
      : (sessions.length === 0 ? [emptyText(isAny, options)] : tableLines(rowsOf(sessions, atMs))).join("\n");
    if (text === shown) continue;
    shown = text;
    if (options.json) sayJson(sessions);
    else if (process.stdout.isTTY) process.stdout.write(`${REDRAW}${text}\n`);
    else say(`${text}\n`);
  }
}

function rowsOf(sessions: readonly SessionView[], nowMs: number): string[][] {
  return [HEADS.map((head) => paint("dim", head)), ...sessions.map((one) => rowOf(one, nowMs))];
}

function rowOf(session: SessionView, nowMs: number): string[] {
  const { repo, branch, task, spent, updatedAt, title } = session;
  return [
    printable(labelOf(session)),
    standingText(session),
    repo === null ? "no repo" : clip(basename(repo), 24),
    branch?.tip ? printable(branch.name) : "-",
    printable(task?.lane?.name ?? "-"),
    task?.changed ? String(task.changed.files) : "-",
    spent.usd > 0 ? `$${spent.usd.toFixed(2)}` : "-",
    ago(updatedAt, nowMs),
    clip(title ?? "", TITLE_LENGTH),
  ];
}

function standingText({ standing, why, queue, unread, task }: SessionView): string {
  const colour = COLOURS[standing];
  const more = [
    ...(why === null ? [] : [clip(why, WHY_LENGTH)]),
    ...(task && !task.isSandboxed ? ["no sandbox"] : []),
    ...(queue > 0 ? [`+${queue}`] : []),
    ...(unread > 0 ? [`${unread} unread`] : []),
  ];
  const painted = colour ? paint(colour, standing) : standing;
  return more.length > 0 ? `${painted} (${more.join(", ")})` : painted;
}
