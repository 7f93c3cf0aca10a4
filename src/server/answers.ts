/**
 * Owns the forms of what the API answers, for the OpenAPI document. A test compares real answers with them. An answer may
 * have more fields than its form.
 */
import * as z from "zod/mini";

const text = z.string();
const whole = z.int().check(z.nonnegative());
const amount = z.number().check(z.nonnegative());
const yes = z.boolean();
const orNull = <T extends z.ZodMiniType>(schema: T) => z.nullable(schema);
const list = <T extends z.ZodMiniType>(schema: T) => z.array(schema);

const size = z.looseObject({ files: whole, insertions: whole, deletions: whole });
const spent = {
  ...{ inputTokens: whole, outputTokens: whole, cacheReadTokens: whole, cacheWriteTokens: whole },
  ...{ usd: amount, durationMs: whole, turns: whole },
};
const budget = z.looseObject({
  ...{ tokens: z.optional(amount), usd: z.optional(amount) },
  ...{ minutes: z.optional(amount), turns: z.optional(amount) },
});

const task = z.looseObject({
  ...{ number: whole, request: orNull(text), outcome: orNull(text), base: orNull(text) },
  verified: orNull(z.looseObject({ tree: text, verdict: text })),
  parked: orNull(z.looseObject({ reason: text, until: orNull(text) })),
  ...{ changed: orNull(size), exitCode: orNull(z.int()), signal: orNull(text) },
  ...{ branch: orNull(text), published: orNull(text) },
});

/** A session, as `holdfast show --json` prints it, without what takes time to measure. */
export const sessionAnswer = z.looseObject({
  ...{ id: text, user: text, name: orNull(text), title: orNull(text), agent: orNull(text) },
  ...{ repo: orNull(text), tags: list(text), metadata: z.record(text, text), status: text },
  ...{ standing: text, why: orNull(text), pid: orNull(whole), createdAt: text, updatedAt: text },
  ...{ turns: whole, records: whole, budget, spent: z.looseObject(spent), task: orNull(task) },
  ...{ queue: whole, unread: whole, isKept: yes },
  parent: orNull(z.looseObject({ id: text, turn: whole })),
});
export const sessionsAnswer = z.looseObject({ sessions: list(sessionAnswer) });

export const taskAnswer = z.looseObject({ request: text });
export const begunAnswer = z.looseObject({ request: text, session: sessionAnswer });
export const sentAnswer = z.looseObject({ message: text, isNew: yes, isHeard: yes, isWoken: yes });
export const branchedAnswer = z.looseObject({ branch: text, commit: text, isNew: yes });
export const mergedAnswer = z.looseObject({
  ...{ into: text, commit: text, commits: whole, verdict: text, isNew: yes },
});
export const rebasedAnswer = z.looseObject({ onto: text, branch: text, commit: text, isNew: yes });
export const tornDownAnswer = z.looseObject({
  ...{ task: whole, snapshot: orNull(text), freedBytes: whole, ports: list(whole), omitted: list(text) },
});
export const handOffAnswer = z.looseObject({ directory: text, to: text });
export const returnedAnswer = z.looseObject({ turn: whole, isChanged: yes, branch: orNull(text) });
export const limitsAnswer = z.looseObject({ maxSessions: orNull(whole), maxMemoryBytes: orNull(whole) });

const expense = z.looseObject({
  ...{ ...spent, at: text, agent: orNull(text), model: orNull(text), isPriced: yes },
});
export const usageAnswer = z.looseObject({ expenses: list(expense) });
export const turnsAnswer = z.looseObject({
  turns: list(
    z.looseObject({ turn: whole, input: z.unknown(), entries: list(z.looseObject({})), outcome: text }),
  ),
});
/** The messages, in the form that was asked for. */
export const conversationAnswer = z.looseObject({
  conversation: z.union([list(z.looseObject({})), z.looseObject({ messages: list(z.looseObject({})) })]),
});
export const diffAnswer = z.looseObject({ patch: text, stat: size, base: orNull(text), tree: text });
export const checksAnswer = z.looseObject({
  tree: orNull(text),
  verdict: orNull(text),
  receipts: list(
    z.looseObject({
      ...{ check: text, tree: text, passed: yes, exitCode: orNull(z.int()), reason: orNull(text) },
      ...{ command: text, durationMs: whole, at: text, output: text },
    }),
  ),
});
export const artifactsAnswer = z.looseObject({
  artifacts: list(z.looseObject({ task: whole, name: text, bytes: whole, sha256: text })),
});
export const queueAnswer = z.looseObject({
  current: orNull(z.looseObject({ task: whole, request: text, parked: orNull(text) })),
  waiting: list(
    z.looseObject({ request: text, priority: z.int(), at: text, asked: text, why: orNull(text) }),
  ),
});
export const requestsAnswer = z.looseObject({
  requests: list(
    z.looseObject({
      ...{ kind: z.enum(["approval", "question"]), id: text, session: text, task: orNull(whole) },
      ...{ at: text, expiresAt: orNull(text), data: z.looseObject({}) },
    }),
  ),
});
export const auditAnswer = z.looseObject({
  ...{ isSound: yes, artifacts: whole, snapshots: whole },
  findings: list(z.looseObject({ file: text, offset: whole, reason: text })),
});
export const searchAnswer = z.looseObject({
  hits: list(
    z.looseObject({
      ...{ session: text, seq: whole, turn: orNull(whole), at: text, type: text, snippet: text },
    }),
  ),
});
export const conflictsAnswer = z.looseObject({
  repos: list(
    z.looseObject({
      ...{ repo: text, into: orNull(text), sessions: whole },
      conflicts: list(z.looseObject({ session: text, other: orNull(text), paths: list(text) })),
    }),
  ),
});
export const documentAnswer = z.looseObject({ openapi: text, paths: z.looseObject({}) });
