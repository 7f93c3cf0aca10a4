/**
 * Owns the part of the fold about the session itself: its identity and user, why it is paused, its budget,
 * its origin, and who has its files. lifecycle.ts owns which status an event leads to.
 */
import { type Json, type PauseReason, pauseReasons } from "../../contract/index.ts";
import type { SessionState } from "../state.ts";
import {
  amountIn,
  budgetIn,
  definitionIn,
  type FieldsRead,
  homeIn,
  isGiven,
  isTrue,
  nameIn,
  textIn,
  textMapIn,
  textOrNull,
  textsIn,
} from "./fields.ts";
import { inherited } from "./inheritance.ts";
import { unreadWithoutTask } from "./mail.ts";
import { type Rule, refuse, rule } from "./rule.ts";
import { refusalWhileOpen } from "./turn.ts";

const origin = {
  session: textIn,
  user: textIn,
  name: nameIn,
  agent: textOrNull,
  definition: definitionIn,
  repo: textOrNull,
  title: textOrNull,
  budget: budgetIn,
};

const betweenTurns = { refuse: ({ openTurn }: SessionState) => refusalWhileOpen(openTurn) };

export const lifeRules: readonly Rule[] = [
  rule(
    "session_opened",
    { ...origin, tags: textsIn, metadata: textMapIn },
    {
      refuse: ({ id }) =>
        id === "" ? undefined : refuse("illegal_transition", "the session was already opened"),
      apply: (_state, { tags, metadata, ...data }, createdAt) => ({
        ...originOf(data),
        tags,
        metadata,
        createdAt,
      }),
    },
  ),
  rule(
    "session_forked",
    { ...origin, parent: textIn, parentSeq: amountIn, atTurn: amountIn },
    {
      ...betweenTurns,
      apply: (state, data, createdAt) => ({
        ...inherited(state, "fork"),
        ...originOf(data),
        lacksRepo: isWithoutItsRepo(state, data.repo),
        createdAt,
        parent: { id: data.parent, seq: data.parentSeq, turn: data.atTurn },
      }),
    },
  ),
  rule(
    "session_imported",
    { user: textIn, name: nameIn, repo: textOrNull, home: homeIn },
    {
      ...betweenTurns,
      apply: (state, { user, name, repo, home }) => ({
        ...inherited(state, "import"),
        user,
        name: name ?? state.name,
        repo,
        lacksRepo: isWithoutItsRepo(state, repo),
        pausedFor: "import",
        unread: user === state.user ? unreadWithoutTask(state) : [],
        home,
      }),
    },
  ),
  rule(
    "session_resumed",
    { from: textIn, by: isGiven },
    {
      ...betweenTurns,
      // The count of crashes begins again when a person resumes the session.
      apply: ({ crashes }, { from, by }) => ({ crashes: from === "interrupted" && by ? crashes + 1 : 0 }),
    },
  ),
  rule(
    "session_paused",
    { reason: pauseReasonIn },
    { ...betweenTurns, apply: (_state, { reason }) => ({ pausedFor: reason }) },
  ),
  rule("session_closed", {}, betweenTurns),
  rule("session_archived", {}, betweenTurns),
  rule("session_kept", { isKept: isTrue }, { apply: (_state, { isKept }) => ({ isKept }) }),
  rule(
    "session_handed_off",
    { to: textIn, directory: textOrNull },
    { ...betweenTurns, apply: (_state, { to, directory }) => ({ handoff: { to, directory } }) },
  ),
  rule("session_returned", {}, { apply: () => ({ handoff: null }) }),
  rule(
    "budget_raised",
    { budget: budgetIn },
    { apply: (state, { budget }) => ({ budget: { ...state.budget, ...budget } }) },
  ),
];

function originOf({ session: id, ...rest }: FieldsRead<typeof origin>) {
  const { user, name, agent, definition, repo, title, budget } = rest;
  return { id, user, name, agent, definition, repo, title, budget };
}

function isWithoutItsRepo(before: SessionState, repo: string | null): boolean {
  return repo === null && (before.repo !== null || before.lacksRepo);
}

function pauseReasonIn(value: Json | undefined): PauseReason {
  return pauseReasons.find((reason) => reason === value) ?? "asked";
}
