/**
 * Owns the part of the fold about turns: which one is open, its calls without a result, the conversation as
 * ranges of turns, and what was spent.
 */
import type { HoldfastError, JsonObject } from "../../contract/index.ts";
import type { OpenTurn, SessionState, Spent, TurnRange } from "../state.ts";
import type { TaskState } from "../task-state.ts";
import { amountIn, objectIn, textIn } from "./fields.ts";
import { type Rule, refuse, rule } from "./rule.ts";

export const turnRules: readonly Rule[] = [
  rule(
    "conversation_begun",
    { task: amountIn, agent: textIn, conversation: textIn },
    {
      // An agent that is started again in the middle of a task goes on in the conversation that has the task.
      apply: ({ conversation: before }, { task, agent, conversation: id }) => {
        const isSame = before?.agent === agent && before.id === id && before.task === task;
        return { conversation: { agent, id, task, hasAnswered: isSame && before.hasAnswered } };
      },
    },
  ),
  rule(
    "turn_started",
    { turn: amountIn },
    {
      refuse: ({ openTurn, turns, task }, { turn }) =>
        refusalWhileOpen(openTurn) ??
        refusalWhileParked(task) ??
        (turn === turns + 1
          ? undefined
          : refuse("invalid_data", `turn ${turn} can't begin: the next turn is ${turns + 1}`)),
      apply: ({ history }, { turn }, startedAt) => ({
        turns: turn,
        history: withTurn(history, turn),
        openTurn: { turn, startedAt, calls: {} },
      }),
    },
  ),
  rule(
    "message_added",
    { turn: amountIn },
    { refuse: ({ openTurn }, { turn }) => refusalUnlessOpen(openTurn, turn), apply: answered },
  ),
  rule(
    "tool_called",
    { turn: amountIn, call: textIn, tool: textIn },
    {
      refuse: ({ openTurn }, { turn, call }) =>
        refusalUnlessOpen(openTurn, turn) ??
        (hasCall(openTurn, call) ? refuse("invalid_data", `call ${call} is already open`) : undefined),
      apply: (state, { call, tool }) => ({
        ...withCalls(state.openTurn, { ...state.openTurn?.calls, [call]: tool }),
        ...answered(state),
      }),
    },
  ),
  rule(
    "tool_returned",
    { turn: amountIn, call: textIn },
    {
      refuse: ({ openTurn }, { turn, call }) =>
        refusalUnlessOpen(openTurn, turn) ??
        (hasCall(openTurn, call) ? undefined : refuse("invalid_data", `call ${call} is not open`)),
      apply: ({ openTurn }, { call }) => withCalls(openTurn, without(openTurn?.calls ?? {}, call)),
    },
  ),
  rule(
    "turn_ended",
    { turn: amountIn, outcome: textIn, usage: objectIn, durationMs: amountIn },
    {
      refuse: ({ openTurn }, { turn }) => refusalUnlessOpen(openTurn, turn) ?? refusalOfOpenCalls(openTurn),
      apply: ({ spent }, { outcome, usage, durationMs }) => ({
        openTurn: null,
        spent: {
          ...withUsage(spent, usage),
          durationMs: spent.durationMs + durationMs,
          turns: spent.turns + 1,
        },
        ...(outcome !== "interrupted" && { crashes: 0 }),
      }),
    },
  ),
  rule(
    "usage_metered",
    {
      inputTokens: amountIn,
      outputTokens: amountIn,
      cacheReadTokens: amountIn,
      cacheWriteTokens: amountIn,
      usd: amountIn,
    },
    {
      // For an agent in a terminal this is the only sign that it answered.
      apply: (state, usage) => ({ spent: withUsage(state.spent, usage), ...answered(state) }),
    },
  ),
];

function answered({ conversation }: SessionState): Partial<SessionState> {
  return conversation && !conversation.hasAnswered
    ? { conversation: { ...conversation, hasAnswered: true } }
    : {};
}

/** For every event that is allowed only between turns. */
export function refusalWhileOpen(openTurn: OpenTurn | null): HoldfastError | undefined {
  return openTurn ? refuse("turn_open", `turn ${openTurn.turn} is still open`) : undefined;
}

function refusalWhileParked(task: TaskState | null): HoldfastError | undefined {
  return task?.parked
    ? refuse(
        "illegal_transition",
        `task ${task.number} is parked: it has to continue before a turn can begin`,
      )
    : undefined;
}

function refusalUnlessOpen(openTurn: OpenTurn | null, turn: number): HoldfastError | undefined {
  return openTurn?.turn === turn ? undefined : refuse("turn_closed", `turn ${turn} is not open`);
}

function refusalOfOpenCalls(openTurn: OpenTurn | null): HoldfastError | undefined {
  const open = Object.keys(openTurn?.calls ?? {}).length;
  return open > 0 ? refuse("turn_open", `the turn has tool calls without a result: ${open}`) : undefined;
}

const hasCall = (openTurn: OpenTurn | null, call: string) => Object.hasOwn(openTurn?.calls ?? {}, call);

function withCalls(openTurn: OpenTurn | null, calls: OpenTurn["calls"]): Partial<SessionState> {
  return openTurn ? { openTurn: { ...openTurn, calls } } : {};
}

function withTurn(history: readonly TurnRange[], turn: number): readonly TurnRange[] {
  const last = history.at(-1);
  return last?.[1] === turn - 1 ? [...history.slice(0, -1), [last[0], turn]] : [...history, [turn, turn]];
}

/** Journals from before caches were counted have only input and output tokens. */
function withUsage(spent: Spent, usage: JsonObject): Spent {
  return {
    ...spent,
    inputTokens: spent.inputTokens + amountIn(usage["inputTokens"]),
    outputTokens: spent.outputTokens + amountIn(usage["outputTokens"]),
    cacheReadTokens: spent.cacheReadTokens + amountIn(usage["cacheReadTokens"]),
    cacheWriteTokens: spent.cacheWriteTokens + amountIn(usage["cacheWriteTokens"]),
    usd: spent.usd + amountIn(usage["usd"]),
  };
}

function without<T>(values: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name !== key));
}
