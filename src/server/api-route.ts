/**
 * Owns the form of a route of the API: what answers it, and what the documents say of it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod/mini";
import { parseForm } from "../face/index.ts";
import { assertJson, parseBody, type Route, readBody } from "../http/index.ts";
import type { Query } from "./query.ts";

const BODY_LIMIT = { maxBytes: 1024 * 1024, code: "body_too_large" };

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly user: string;
  /** Of the session that the path names. */
  readonly id: string;
  /** The other parts of the path, by their names. */
  readonly params: Readonly<Record<string, string>>;
}

/** For work that goes on after its answer was sent. */
export interface Afterwards {
  /** The server stops. */
  readonly signal: AbortSignal;
  /** Shows a failure that no answer can report any more. */
  readonly say: (text: string) => void;
}

export type Form = z.ZodMiniType;
export type FormOf<F extends Form> = z.output<F>;

/** What a route answers: JSON of a form, a stream of events, or bytes. */
export type Gives = Form | "events" | "bytes";

export interface ApiRoute extends Route<Call> {
  readonly summary: string;
  /** What can be asked in the URL. */
  readonly query: Query;
  /** The form of the body; null where there is none. */
  readonly form: Form | null;
  readonly gives: Gives;
}

interface Described {
  readonly query?: Query;
  readonly gives: Gives;
}

export const get = (
  path: string,
  summary: string,
  { query = {}, gives }: Described,
  answer: ApiRoute["answer"],
): ApiRoute => ({
  ...{ method: "GET", path, summary, query, form: null, gives, answer },
});

export function post<F extends Form>(
  path: string,
  summary: string,
  { form, gives }: { readonly form: F; readonly gives: Gives },
  answer: (call: Call, body: FormOf<F>) => Promise<object | undefined>,
): ApiRoute {
  return {
    ...{ method: "POST", path, summary, query: {}, form, gives },
    answer: async (call) => answer(call, parseForm(form, await readJson(call.request)) as FormOf<F>),
  };
}

/** No body is an empty object. */
async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await readBody(request, BODY_LIMIT);
  if (body.length === 0) return {};
  assertJson(request);
  return parseBody(body);
}
