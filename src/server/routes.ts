/**
 * Owns what the API can do: the same as the command line, for one user's sessions. docs/protocol.md lists it; a test
 * compares the two.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseBudget, parseSessionId } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { sessionDirOf } from "../home/index.ts";
import { assertJson, parseBody, Refusal, type Route, readBody } from "../http/index.ts";
import { present } from "../util/index.ts";
import type { EventStreams } from "./events.ts";

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly user: string;
  /** Of the session that the path names. */
  readonly id: string;
}

const BODY_LIMIT = { maxBytes: 1024 * 1024, code: "body_too_large" };

export function routesOf(dispatcher: Dispatcher, streams: EventStreams): readonly Route<Call>[] {
  const { holdfast } = dispatcher;
  const show = ({ id, user }: Call) => dispatcher.show(id, { user });
  const after = (move: (call: Call) => Promise<unknown>) => async (call: Call) => {
    await move(call);
    return show(call);
  };
  return [
    {
      method: "GET",
      path: "/v1/sessions",
      answer: async ({ user }) => ({ sessions: await dispatcher.list({ user }) }),
    },
    {
      method: "POST",
      path: "/v1/sessions",
      answer: async ({ request, user }) => {
        const { budget, ...body } = await readJson(request);
        const { name, title, repo, agent } = texts(body, ["name", "title", "repo", "agent"]);
        const path = repo === undefined ? undefined : await holdfast.resolveRepo(repo);
        const limits = budget === undefined ? undefined : parseBudget(budget);
        const session = await holdfast.openSession({
          user,
          ...present({ name, title, agent, repo: path, budget: limits }),
        });
        await session.release();
        return dispatcher.show(session.id, { user });
      },
    },
    { method: "GET", path: "/v1/sessions/:id", answer: show },
    {
      method: "GET",
      path: "/v1/sessions/:id/events",
      answer: async ({ id, user, request, response, url }) => {
        // Whose it is, before anything is sent.
        await holdfast.showSession(id, { user });
        const last = request.headers["last-event-id"] ?? url.searchParams.get("after") ?? "0";
        if (!/^\d{1,15}$/.test(String(last)))
          throw new Refusal(400, "invalid_data", "Last-Event-ID is the seq of a record");
        await streams.send(response, sessionDirOf(dispatcher.home, parseSessionId(id)), Number(last));
        return undefined;
      },
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/messages",
      answer: async ({ id, user, request }) => {
        const body = await readJson(request);
        const { text, id: message, from } = texts(body, ["text", "id", "from"]);
        if (text === undefined) throw new Refusal(400, "invalid_data", "text: is missing");
        return dispatcher.send(id, text, { user, ...present({ id: message, from }) });
      },
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/interrupt",
      answer: after(({ id, user }) => dispatcher.interrupt(id, { user })),
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/pause",
      answer: after(({ id, user }) => dispatcher.pause(id, { user })),
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/resume",
      answer: after(({ id, user }) => dispatcher.resume(id, { user })),
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/close",
      answer: after(({ id, user }) => dispatcher.close(id, { user })),
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/archive",
      answer: after(({ id, user }) => dispatcher.archive(id, { user })),
    },
    {
      method: "POST",
      path: "/v1/sessions/:id/fork",
      answer: async ({ id, user, request }) => {
        const { atTurn, ...body } = await readJson(request);
        const { title } = texts(body, ["title"]);
        if (atTurn !== undefined && !Number.isSafeInteger(atTurn))
          throw new Refusal(400, "invalid_data", "atTurn: a whole number is needed");
        const options = { user, ...present({ title, atTurn: atTurn as number | undefined }) };
        const fork = await holdfast.forkSession(id, options);
        await fork.release();
        return dispatcher.show(fork.id, { user });
      },
    },
  ];
}

/** No body is an empty object. */
async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await readBody(request, BODY_LIMIT);
  if (body.length === 0) return {};
  assertJson(request);
  return parseBody(body);
}

/** A body with these, all of them texts, and nothing else. */
function texts<K extends string>(
  body: Record<string, unknown>,
  names: readonly K[],
): Partial<Record<K, string>> {
  const unknown = Object.keys(body).find((name) => !names.some((one) => one === name));
  if (unknown !== undefined) throw new Refusal(400, "invalid_data", `${unknown}: there is no such field`);
  const found: Partial<Record<K, string>> = {};
  for (const name of names) {
    const value = body[name];
    if (value === undefined) continue;
    if (typeof value !== "string") throw new Refusal(400, "invalid_data", `${name}: a text is needed`);
    found[name] = value;
  }
  return found;
}
