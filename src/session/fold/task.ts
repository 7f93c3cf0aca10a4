/**
 * Owns the latest task's part of the fold: its progress, its files, and what of its work was published.
 */
import { type HoldfastError, type LaneTools, usualTools } from "../../contract/index.ts";
import type { SessionState } from "../state.ts";
import {
  type LaneState,
  newTask,
  noCommandEnded,
  SECRET_IN_WORK,
  type SnapshotState,
} from "../task-state.ts";
import {
  amountIn,
  exitCodeIn,
  givenAmount,
  givenText,
  homeIn,
  hostsIn,
  isGiven,
  isTrue,
  laneToolsIn,
  objectIn,
  rangesIn,
  stageIn,
  textIn,
  textOrNull,
} from "./fields.ts";
import { inTask, refusalUnlessUnderWay } from "./latest-task.ts";
import { refusalUnlessQueued, unqueued, unreadWithoutTask } from "./mail.ts";
import { ofNoTask, withoutTask } from "./requests.ts";
import { type Rule, refuse, rule } from "./rule.ts";
import { refusalWhileOpen } from "./turn.ts";

/** More than a person would allow one at a time (machine-2). */
const MAX_HOSTS = 200;

export const taskRules: readonly Rule[] = [
  // This record comes before the task's own.
  rule("sandbox_waived", { task: amountIn }, { apply: (_, { task }) => ({ waivedTask: task }) }),
  // This record comes when the capsule exists.
  rule(
    "task_started",
    {
      task: amountIn,
      request: givenText,
      asked: textOrNull,
      env: isGiven,
      base: textOrNull,
      carried: objectIn,
      home: homeIn,
      lane: textOrNull,
      isReadOnly: isTrue,
      isWithoutCommands: isTrue,
      hosts: hostsIn,
      tools: laneToolsIn,
    },
    {
      refuse: (state, { task, request }) => {
        const next = (state.task?.number ?? 0) + 1;
        if (task !== next)
          return refuse("invalid_data", `task ${task} can't start: the next task is ${next}`);
        return request === null ? undefined : refusalUnlessQueued(state.queue, request);
      },
      apply: (state, { task, request, asked, env, base, carried, home, ...of }) => {
        const hasUnpublished = isTrue(carried["hasUnpublished"]);
        return {
          queue: unqueued(state.queue, request),
          ...ofNoTask(state),
          unread: unreadWithoutTask(state),
          hadValues: state.hadValues || env,
          task: {
            ...newTask,
            number: task,
            request,
            asked,
            base,
            lane: laneIn(of),
            isSandboxed: state.waivedTask !== task,
            capsule: "there",
            hasUnpublished,
            isHeld: hasUnpublished && state.task?.isHeld === true,
            hadValuesBefore: state.hadValues,
            headBefore: state.head,
          },
          ...(home && { home }),
        };
      },
    },
  ),
  rule(
    "host_allowed",
    { task: amountIn, host: textIn },
    {
      refuse: (state, { task }) =>
        refusalUnlessUnderWay(state, task) ??
        ((state.task?.lane?.hosts.length ?? 0) < MAX_HOSTS
          ? undefined
          : refuse("invalid_data", `task ${task} already has the maximum of ${MAX_HOSTS} hosts`)),
      apply: (state, { host }) => withHost(state, host),
    },
  ),
  rule(
    "task_ended",
    {
      task: amountIn,
      outcome: textIn,
      files: givenAmount,
      insertions: amountIn,
      deletions: amountIn,
      head: textOrNull,
      unpublished: objectIn,
    },
    {
      apply: (state, { task, outcome, files, insertions, deletions, head, unpublished }) => ({
        ...withoutTask(state, task),
        unread: unreadWithoutTask(state),
        ...inTask(state, {
          outcome,
          stage: null,
          acted: null,
          parked: null,
          changed: files === null ? null : { files, insertions, deletions },
          ...(unpublished["code"] === SECRET_IN_WORK && { isHeld: true }),
        }),
        ...(head !== null && { head }),
      }),
    },
  ),
  rule(
    "stage_started",
    { task: amountIn, stage: stageIn },
    {
      refuse: (state, { task }) => {
        if (task === state.task?.number && state.task.outcome !== null)
          return refuse("invalid_data", `task ${task} has ended`);
        return refusalOfStage(state, task);
      },
      apply: (state, { task, stage }) =>
        task === state.task?.number ? inTask(state, { stage, ...(stage === "act" && { acted: null }) }) : {},
    },
  ),
  rule(
    "stage_ended",
    { task: amountIn, stage: stageIn, outcome: textOrNull },
    {
      refuse: (state, { task, stage }) => {
        const open = task === state.task?.number ? state.task.stage : null;
        return open !== null && open !== stage
          ? refuse("invalid_data", `task ${task} is still at stage ${open}`)
          : refusalOfStage(state, task);
      },
      apply: (state, { task, stage, outcome }) =>
        task === state.task?.number
          ? inTask(state, { stage: null, ...(stage === "act" && { acted: outcome }) })
          : {},
    },
  ),
  rule("process_started", {}, { apply: (state) => inTask(state, noCommandEnded) }),
  rule(
    "process_ended",
    { exitCode: exitCodeIn, signal: textOrNull },
    { apply: (state, { exitCode, signal }) => inTask(state, { exitCode, signal }) },
  ),
  rule(
    "capsule_created",
    { task: amountIn },
    {
      refuse: (state, { task }) =>
        task === state.task?.number
          ? undefined
          : refuse("invalid_data", `task ${task} is not the session's latest task`),
      apply: (state) => inTask(state, { capsule: "there" }),
    },
  ),
  rule("capsule_restored", {}, { apply: (state) => inTask(state, { capsule: "there" }) }),
  rule("capsule_torn_down", {}, { apply: (state) => inTask(state, { capsule: "torn_down" }) }),
  rule(
    "snapshot_taken",
    {
      snapshot: textIn,
      tree: textIn,
      manifest: textIn,
      turn: amountIn,
      unanswered: amountIn,
      home: homeIn,
    },
    {
      apply: (state, { snapshot: commit, tree, manifest, turn, unanswered, home }) => ({
        ...inTask(state, { snapshot: { commit, tree, manifest, turn, unanswered } }),
        ...(home && { home }),
      }),
    },
  ),
  rule(
    "publishing_started",
    { branch: textIn, commit: textIn },
    {
      apply: (state, { branch: name, commit: intended }) => ({
        branch: { name, tip: state.branch?.tip ?? null, intended },
      }),
    },
  ),
  rule(
    "work_published",
    { branch: textIn, commit: textIn, base: textOrNull },
    {
      apply: (state, { branch, commit, base }) => ({
        ...inTask(state, {
          branch,
          published: commit,
          hasUnpublished: false,
          isHeld: false,
          ...(base !== null && { base }),
        }),
        branch: { name: branch, tip: commit, intended: null },
      }),
    },
  ),
  // Requests to a person, and what was decided about them, belong to the turns that are undone, so they are dropped. Queue, inbox and spending
  // stay.
  rule(
    "session_rewound",
    {
      toTurn: amountIn,
      history: rangesIn,
      snapshot: textOrNull,
      tree: textIn,
      manifest: textIn,
      unanswered: amountIn,
      base: textOrNull,
      published: textOrNull,
      head: textOrNull,
      hasUnpublished: isTrue,
      isHeld: isTrue,
      home: homeIn,
    },
    {
      refuse: ({ openTurn }) => refusalWhileOpen(openTurn),
      apply: (state, { toTurn, history, head, home, ...of }) => ({
        // Only turns that exist.
        history: history.filter(([, last]) => last <= state.turns),
        pending: {},
        grants: {},
        unread: unreadWithoutTask(state),
        head,
        ...(home && { home }),
        ...inTask(state, {
          outcome: "rewound",
          stage: null,
          acted: null,
          parked: null,
          ...noCommandEnded,
          capsule: "rewound",
          base: of.base,
          published: of.published,
          branch: of.published === null ? null : (state.branch?.name ?? null),
          hasUnpublished: of.hasUnpublished,
          isHeld: of.isHeld,
          headBefore: head,
          snapshot: of.snapshot === null ? null : snapshotOf(of.snapshot, toTurn, of),
        }),
      }),
    },
  ),
];

/**
 * A task goes through its first stages before it is started. Until then they are recorded but not part of the
 * state.
 */
function refusalOfStage({ task: current }: SessionState, task: number): HoldfastError | undefined {
  const number = current?.number ?? 0;
  if (task === number + 1 || (current && task === number)) return undefined;
  return refuse("invalid_data", `task ${task} is neither the session's latest task nor its next one`);
}

function withHost({ task }: SessionState, host: string): Partial<SessionState> {
  if (!task?.lane) return {};
  const hosts = [...new Set([...task.lane.hosts, ...hostsIn([host])])];
  return inTask({ task }, { lane: { ...task.lane, hosts } });
}

function snapshotOf(
  commit: string,
  turn: number,
  { tree, manifest, unanswered }: Pick<SnapshotState, "tree" | "manifest" | "unanswered">,
): SnapshotState {
  return { commit, tree, manifest, turn, unanswered };
}

interface LaneFields extends Omit<LaneState, "name" | "tools"> {
  readonly lane: string | null;
  readonly tools: LaneTools | null;
}

function laneIn({ lane: name, isReadOnly, isWithoutCommands, hosts, tools }: LaneFields): LaneState | null {
  const usual = isReadOnly ? { ...usualTools, write: [] } : usualTools;
  return name === null ? null : { name, isReadOnly, isWithoutCommands, hosts, tools: tools ?? usual };
}
