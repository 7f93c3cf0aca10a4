/**
 * Owns the entrances to a session, open, resume and fork, and the exits that need no owner, pause and close.
 * What happens inside a session is the session's. What concerns files is loaded where there are some: a session
 * process that only waits has no use for it.
 */
import {
  type Budget,
  HoldfastError,
  isHoldfastError,
  nameFromText,
  parseSessionId,
  parseUser,
  type SessionId,
} from "../contract/index.ts";
import {
  blobReferences,
  damaged,
  forkBlobs,
  forkSegments,
  type Position,
  readDurable,
} from "../journal/index.ts";
import { withoutSecrets } from "../memory/index.ts";
import {
  assertRaised,
  budgetReached,
  type CachedFold,
  emptyState,
  fold,
  lastTurnOf,
  nextStatus,
  reachedLimits,
  Session,
  type SessionState,
  verifySession,
  working,
} from "../session/index.ts";
import { assertKnown, type Disk, present } from "../util/index.ts";
import { assertPrivate, defaultUser, type FoundSession, findSession, type Home } from "./home.ts";
import type { Claimant } from "./names.ts";
import { stageSession } from "./staging.ts";
import { shownStatus } from "./status.ts";

export interface NewSession {
  readonly user?: string;
  /** Exactly this, or it is refused. */
  readonly name?: string;
  /** What its name is made from where none is given. Default: the title. */
  readonly nameFrom?: string;
  readonly agent?: string;
  readonly repo?: string;
  readonly title?: string;
  readonly budget?: Budget;
}

const NEW_SESSION = [
  "user",
  "name",
  "nameFrom",
  "agent",
  "repo",
  "title",
  "budget",
] satisfies (keyof NewSession)[];

export async function openSession(
  home: Home,
  options: NewSession = {},
  id: SessionId = parseSessionId(home.newId("sess")),
): Promise<Session> {
  assertKnown(options, NEW_SESSION);
  const user = parseUser(options.user ?? defaultUser());
  const { agent, repo, title, budget } = options;
  // A home that became readable to others gets no new session.
  await assertPrivate(home.dir);
  return named(home, { id, repo: repo ?? null }, options, (name) =>
    stageSession(home, id, async (_staged, own) => {
      const origin = { session: id, user, ...present({ name, agent, repo, title, budget }) };
      await (await own()).record("session_opened", origin);
    }),
  );
}

/** Where there is nothing to make a name from, it goes by its id. */
async function named<T>(
  home: Home,
  claimant: Claimant,
  { name, nameFrom, title }: Pick<NewSession, "name" | "nameFrom" | "title">,
  make: (name?: string) => Promise<T>,
): Promise<T> {
  const text = nameFrom ?? title ?? "";
  // It stands in a branch and in a path, where no redaction follows.
  const like = nameFromText(text === "" ? "" : await withoutSecrets(home.ports.redact, text));
  if (name === undefined && like === undefined) return make();
  const { claimName } = await import("./names.ts");
  const wish = name === undefined ? { like: like ?? "" } : { exactly: name };
  const claim = await claimName(home, claimant, wish);
  const made = await make(claim.name).catch(async (error: unknown) => {
    await claim.release();
    throw error;
  });
  await claim.settle();
  return made;
}

export interface ResumeOptions {
  readonly user?: string;
  /** Raised before the session goes on. */
  readonly budget?: Budget;
  /** End the process that has the session open, if there is one. */
  readonly takeOver?: boolean;
  /** Whether its files come back with it. Default: true. */
  readonly files?: boolean;
  /** Who saw that it had crashed, if that was no person. */
  readonly by?: string;
  /** Only one that nobody has paused, closed or given away meanwhile. */
  readonly onlyIfWorking?: boolean;
  /** Opened or resumed just now by whoever hands it over: there is nothing to record, if it is in order. */
  readonly isHandedOver?: boolean;
  /** What is known of the output of calls that a crash cut off. */
  readonly outputOfCut?: (state: SessionState) => string;
}

const RESUME = [
  "user",
  "budget",
  "takeOver",
  "files",
  "by",
  "onlyIfWorking",
  "isHandedOver",
  "outputOfCut",
] satisfies (keyof ResumeOptions)[];

export async function resumeSession(
  home: Home,
  idText: string,
  options: ResumeOptions = {},
): Promise<Session> {
  assertKnown(options, RESUME);
  const { id, dir } = await findSession(home, idText, options.user);
  let before: SessionState | undefined;
  const session = await Session.own({
    sessionDir: dir,
    id,
    ports: home.ports,
    takeOver: options.takeOver ?? false,
    ...present({ outputOfCut: options.outputOfCut }),
    admit: (state) => {
      before = state;
      if (options.onlyIfWorking && !working.includes(state.status))
        throw new HoldfastError("illegal_transition", `the session is ${state.status} by now`, {
          status: state.status,
        });
      assertResumable(state, options.budget ?? {});
    },
  });
  try {
    if (options.budget) await session.raiseBudget(options.budget);
    const { tornBytes, brokenFile } = session.recovery;
    const from = before ? shownStatus(before, false) : "open";
    const torn = tornBytes > 0 ? { tornBytes, ...present({ brokenFile }) } : {};
    const isAtRest = before?.status === "open" || (before?.status === "active" && !before.openTurn);
    const isInOrder = isAtRest && tornBytes === 0 && options.by === undefined;
    if (!isInOrder || !options.isHandedOver)
      await session.append("session_resumed", { from, ...torn, ...present({ by: options.by }) });
    if (options.files ?? true) await (await import("./tasks.ts")).bringFiles(home, session);
    return session;
  } catch (error) {
    await session.release();
    throw error;
  }
}

function assertResumable(state: SessionState, raise: Budget): void {
  if (state.status === "handed_off")
    throw new HoldfastError(
      "handoff_open",
      `${state.handoff?.to} has its files: holdfast handoff ${state.name ?? state.id} --return takes them back`,
      { directory: state.handoff?.directory, status: state.status },
    );
  if (nextStatus(state.status, "session_resumed") === undefined) {
    throw new HoldfastError("illegal_transition", `a session that is ${state.status} can't be resumed`, {
      status: state.status,
    });
  }
  assertRaised(state, raise);
  const limits = reachedLimits({ ...state, budget: { ...state.budget, ...raise } });
  if (limits.length > 0) throw budgetReached(limits);
}

export interface ForkOptions extends NewSession {
  /** The last turn that the fork has. The default: the last one that ended. 0: none. */
  readonly atTurn?: number;
}

/**
 * A fork inherits history and memory; not approvals, token, ports, inbox, or what was spent.
 * F2 Nothing is forked from a session that is damaged: what the fork stands on was found good, all of it.
 */
export async function forkSession(home: Home, idText: string, options: ForkOptions = {}): Promise<Session> {
  assertKnown(options, [...NEW_SESSION, "atTurn"]);
  const found = await findSession(home, idText, options.user);
  // Not by its cached fold, which hides what is damaged before it.
  const { state, position, damage, remember } = await verifySession(found.dir);
  if (damage) throw damaged(damage);
  const last = state.turns - (state.openTurn ? 1 : 0);
  const atTurn = options.atTurn ?? lastEndedTurn(state);
  if (!Number.isSafeInteger(atTurn) || atTurn < 0 || atTurn > last) {
    throw new HoldfastError(
      "turn_not_found",
      `there is no turn ${atTurn} to fork at; the last that ended is ${last}`,
    );
  }
  // The end, unless a task was begun behind the last turn.
  const isEnd = atTurn === lastTurnOf(state) && (state.task === null || state.task.snapshot !== null);
  const cut = isEnd
    ? { position, fold: { position, state } }
    : ((await cutAfterTurn(found.dir, atTurn)) ?? { position, fold: { position, state } });
  const stateThere = cut.fold?.state ?? (await stateAt(found.dir, cut.position));
  // The repo is where it is now: an imported session's history names the path of another machine.
  const repo = options.repo ?? state.repo;
  const { adoptFiles, assertForkable, discardFork, forkFiles, inheritHomes, repoPathOf } = await import(
    "./tasks.ts"
  );
  const { locatingDamage } = await import("./snapshot-damage.ts");
  const path = repoPathOf(home, { repo, lacksRepo: state.lacksRepo });
  const keeper = { ...found, repo: path };
  await locatingDamage(home, keeper, () => assertForkable(home, path, stateThere));
  const child = await forkAt(
    home,
    found,
    {
      ...options,
      ...present({ nameFrom: options.nameFrom ?? options.title ?? state.name ?? undefined }),
      user: found.user,
      repo,
    },
    cut,
    async (id, staged, disk) => {
      await locatingDamage(home, keeper, () => adoptFiles(home, path, stateThere, found.id, id));
      await inheritHomes(disk, found.dir, staged);
    },
  );
  remember();
  try {
    await locatingDamage(home, keeper, () => forkFiles(home, child));
    return child;
  } catch (error) {
    // Without the files that it stands on there is nothing to go on with.
    if (isHoldfastError(error, "snapshot_invalid")) await discardFork(home, child);
    await child.release();
    throw error;
  }
}

async function stateAt(dir: string, position: Position): Promise<SessionState> {
  let state = emptyState;
  for await (const { record } of readDurable(dir)) {
    if (record.seq > position.seq) break;
    state = fold(state, record);
  }
  return state;
}

export interface Cut {
  readonly position: Position;
  /** The state there, if it is known: saves reading what stands before. */
  readonly fold?: CachedFold;
  /** Blobs that the history up to here names; without it, all of them. */
  readonly blobs?: ReadonlySet<string>;
}

/** Of the conversation as it stands. */
function lastEndedTurn({ history, openTurn }: SessionState): number {
  const isEnded = (turn: number) => turn !== openTurn?.turn;
  const [first = 0, last = 0] = history.at(-1) ?? [];
  if (isEnded(last)) return last;
  return first < last ? last - 1 : (history.at(-2)?.[1] ?? 0);
}

/** Before the next turn, the task that it is the first of, or a rewind. Undefined where nothing of the kind follows. */
async function cutAfterTurn(dir: string, turn: number): Promise<Cut | undefined> {
  const blobs = new Set<string>();
  let turns = 0;
  for await (const { record, start } of readDurable(dir)) {
    if (turns === turn && ["turn_started", "task_started", "session_rewound"].includes(record.type))
      return { position: start, blobs };
    if (record.type === "turn_started") turns += 1;
    for (const { $blob } of blobReferences(record.data)) blobs.add($blob.sha256);
  }
  return undefined;
}

/** Builds the child aside: linked history, then a record of its own that says where it comes from. */
export async function forkAt(
  home: Home,
  parent: FoundSession,
  options: Omit<NewSession, "repo"> & { readonly repo: string | null },
  cut: Cut,
  prepare: (id: SessionId, staged: string, disk: Disk) => Promise<void> = async () => {},
): Promise<Session> {
  const id = parseSessionId(home.newId("sess"));
  const build = (name?: string) =>
    stageSession(home, id, async (staged, own, disk) => {
      await prepare(id, staged, disk);
      await forkSegments(disk, parent.dir, staged, cut.position);
      await forkBlobs(disk, parent.dir, staged, cut.blobs);
      const session = await own(cut.fold && { fold: cut.fold });
      const { state } = session;
      await session.record("session_forked", {
        session: id,
        user: options.user ?? state.user,
        ...present({
          name,
          agent: options.agent ?? state.agent ?? undefined,
          repo: options.repo ?? undefined,
          title: options.title ?? state.title ?? undefined,
          budget: options.budget ?? state.budget,
        }),
        parent: parent.id,
        parentSeq: cut.position.seq,
        parentHash: cut.position.hash,
        atTurn: state.turns,
      });
    });
  return named(home, { id, repo: options.repo }, options, build);
}

/** Whether retention and gc leave it alone. Nothing else of it changes, and it need not be resumed for it. */
export async function keepSession(home: Home, idText: string, isKept: boolean, user?: string): Promise<void> {
  const { id, dir } = await findSession(home, idText, user);
  const session = await Session.own({ sessionDir: dir, id, ports: home.ports });
  try {
    if (session.state.isKept !== isKept) await session.append("session_kept", { isKept });
  } finally {
    await session.release();
  }
}

/** Pause and close of a session that no process has open. */
export async function settleSession(
  home: Home,
  idText: string,
  to: "session_paused" | "session_closed",
  user?: string,
) {
  const { id, dir } = await findSession(home, idText, user);
  const session = await Session.own({
    sessionDir: dir,
    id,
    ports: home.ports,
    admit: (state) => {
      if (nextStatus(state.status, to) === undefined) {
        const what = to === "session_paused" ? "paused" : "closed";
        const message = `a session that is ${state.status} can't be ${what}`;
        throw new HoldfastError("illegal_transition", message, { status: state.status });
      }
    },
  });
  try {
    await (await import("./tasks.ts")).restFiles(home, session);
    await (to === "session_paused" ? session.pause() : session.close());
  } finally {
    await session.release();
  }
  return session.state;
}
