/**
 * Owns the journal's half of a fork: where the history is cut, and the child, which is built aside with the
 * history up to the cut.
 * fork-2 A damaged session can't be forked: every record and blob that the fork is built on is checked first.
 */
import { HoldfastError, parseSessionId, type SessionId } from "../contract/index.ts";
import {
  blobReferences,
  damaged,
  forkBlobs,
  forkSegments,
  type Position,
  readDurable,
} from "../journal/index.ts";
import {
  type CachedFold,
  emptyState,
  fold,
  lastTurnOf,
  type Session,
  type SessionState,
  verifySession,
} from "../session/index.ts";
import { type Disk, present } from "../util/index.ts";
import type { FoundSession } from "./finding.ts";
import type { Home } from "./home.ts";
import { type NewSession, named } from "./opening.ts";
import { stageSession } from "./staging.ts";

export interface ForkOptions extends NewSession {
  /** The last turn that the fork contains. Default: the last turn that ended. 0: no turn. */
  readonly atTurn?: number;
}

/** Where the history of a fork is cut, and what the fork begins with. */
export interface ForkPoint {
  readonly cut: Cut;
  /** The parent's state at the cut. */
  readonly stateThere: SessionState;
  /** The parent's state now. The history of an imported session may name the repo of another machine. */
  readonly stateNow: SessionState;
  /** Saves the next check from reading everything again. */
  remember(): void;
}

export async function forkPoint(dir: string, turn: number | undefined): Promise<ForkPoint> {
  // The cached fold is not used here: it would hide damage before its position.
  const { state, position, damage, remember } = await verifySession(dir);
  if (damage) throw damaged(damage);
  const last = state.turns - (state.openTurn ? 1 : 0);
  const atTurn = turn ?? lastEndedTurn(state);
  if (!Number.isSafeInteger(atTurn) || atTurn < 0 || atTurn > last) {
    throw new HoldfastError(
      "turn_not_found",
      `there is no turn ${atTurn} to fork at; the last turn that ended is ${last}`,
    );
  }
  // The cut is at the end of the journal, unless a task was begun after the last turn.
  const isEnd = atTurn === lastTurnOf(state) && (state.task === null || state.task.snapshot !== null);
  const end = { position, fold: { position, state } };
  const cut: Cut = isEnd ? end : ((await cutAfterTurn(dir, atTurn)) ?? end);
  const stateThere = cut.fold?.state ?? (await stateAt(dir, cut.position));
  return { cut, stateThere, stateNow: state, remember };
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
  /** The state at the cut, if it is known. It saves reading the history before the cut. */
  readonly fold?: CachedFold;
  /** The blobs that the history up to the cut names. Without it, all blobs of the parent are taken. */
  readonly blobs?: ReadonlySet<string>;
}

/** The last turn of the conversation that has ended. */
function lastEndedTurn({ history, openTurn }: SessionState): number {
  const isEnded = (turn: number) => turn !== openTurn?.turn;
  const [first = 0, last = 0] = history.at(-1) ?? [];
  if (isEnded(last)) return last;
  return first < last ? last - 1 : (history.at(-2)?.[1] ?? 0);
}

/**
 * Cuts before the next turn, before the task that this turn begins, or before a rewind. Undefined when none
 * follows.
 */
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

/** Builds the child aside: it links the history, then adds the record that names its parent. */
export async function forkAt(
  home: Home,
  parent: FoundSession,
  options: Omit<NewSession, "repo"> & { readonly repo: string | null },
  { cut, stateNow }: Pick<ForkPoint, "cut" | "stateNow">,
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
          // Another agent does not use this definition. It is read from the parent's present state: at the
          // cut, an imported session may have the definition that came with it.
          definition: options.agent === undefined ? (stateNow.definition ?? undefined) : undefined,
          repo: options.repo ?? undefined,
          title: options.title ?? state.title ?? undefined,
          budget: options.budget ?? stateNow.budget,
        }),
        parent: parent.id,
        parentSeq: cut.position.seq,
        parentHash: cut.position.hash,
        atTurn: state.turns,
      });
    });
  return named(home, { id, repo: options.repo }, options, build);
}
