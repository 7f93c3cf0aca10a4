/**
 * Owns one request of an agent to a model, from its arrival to the last byte of its answer: the budget is asked before
 * it goes, and what it cost is on record when it is over. The bytes of both directions pass as they are.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type BrokerConnection, chargedFor, type ModelAnswer } from "../broker/index.ts";
import { type HoldfastError, isHoldfastError, type Parked } from "../contract/index.ts";
import {
  canCount,
  Meter,
  type Metered,
  type ModelApi,
  type Prices,
  priced,
  usageLimitOf,
} from "../metering/index.ts";
import type { Session } from "../session/index.ts";
import type { Clock } from "../util/index.ts";
import { type Held, keyOf, type ModelHold, whyHeldByBudget } from "./model-hold.ts";
import type { Wanted } from "./model-request.ts";

export interface AgentRequest extends Wanted {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly model: string;
  readonly api: ModelApi;
}

export interface ForwardParts {
  readonly session: Session;
  readonly task: number;
  readonly broker: BrokerConnection;
  readonly prices: Prices;
  /** Those that the user's settings have now. */
  readonly readPrices: () => Promise<Prices>;
  readonly hold: ModelHold;
  readonly clock: Clock;
  /** The task can't go on now: its turn is ended, and it is parked. */
  readonly park: (why: Parked) => void;
  /** A provider failed: what the agent makes of that may take long to be seen. */
  readonly onFault: (what: string) => void;
}

/** In a record. */
const MAX_DETAIL = 500;
/** More of an error is not looked at. */
const MAX_ERROR_BYTES = 64 * 1024;
/**
 * Of the connection, not of the answer. By a length the agent would know that it has all of it, and go on before what it
 * cost is on record.
 */
const NOT_PASSED_ON = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer"],
  "content-length",
]);

export class ModelForward {
  readonly #parts: ForwardParts;
  /** Everything that was spent is on record when this resolves. */
  #metered: Promise<unknown> = Promise.resolve();
  #prices: Prices;
  #requests = 0;

  constructor(parts: ForwardParts) {
    this.#parts = parts;
    this.#prices = parts.prices;
  }

  async answer(request: AgentRequest, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const answer = await this.#send(request, gone.signal).catch(async (error: unknown) => {
      if (gone.signal.aborted) await this.#recordUnanswered(request);
      if (isHoldfastError(error, "provider_unreachable")) this.#parts.onFault(error.message);
      throw error;
    });
    if (!answer) return void response.destroy();
    if (answer.status === 429) return this.#limited(request, answer, { response, gone: gone.signal });
    const { status } = answer;
    if (status === 401 || status >= 500) this.#parts.onFault(faultOf(request.provider, status));
    await this.#pass(request, answer, response);
  }

  /** Undefined: it is not sent, because its task is parked or its agent is gone. */
  async #send(request: AgentRequest, signal: AbortSignal): Promise<ModelAnswer | undefined> {
    const { hold, broker } = this.#parts;
    const { provider, method, path, body } = request;
    // A compressed answer can't be metered.
    const headers = { ...request.headers, "accept-encoding": "identity" };
    let answer: ModelAnswer | undefined;
    const whyHeld = async (): Promise<Held | undefined> => {
      // What other requests cost counts for this one.
      await this.#metered.catch(() => {});
      const held = await this.#heldByBudget(request);
      if (held) return held;
      if (signal.aborted) return undefined;
      try {
        answer = await broker.forward({ provider, method, path, headers, body, signal });
        return undefined;
      } catch (error) {
        if (isHoldfastError(error, "key_missing") || isHoldfastError(error, "login_expired"))
          return { need: keyOf(provider), why: { reason: "key", detail: detailOf(error) } };
        throw error;
      }
    };
    const isFree = chargedFor(request.api, method, path) === "nothing";
    const why = await hold.pass({ provider, isFree }, whyHeld, signal);
    if (why && !signal.aborted) await this.#park(why, signal);
    return answer;
  }

  /** The agent gets no answer: it would take a broken one for a failure, when it is to end its turn. */
  async #park(why: Parked, gone: AbortSignal): Promise<void> {
    this.#parts.park(why);
    if (!gone.aborted) await once(gone, "abort");
  }

  async #heldByBudget({ api, method, path, model }: AgentRequest): Promise<Held | undefined> {
    if (chargedFor(api, method, path) === "nothing") return undefined;
    const { session, readPrices } = this.#parts;
    const isCounted = () => canCount(session.state.budget, model, this.#prices);
    // A person may have added the price since. Settings that can't be read change nothing.
    if (!isCounted()) this.#prices = await readPrices().catch(() => this.#prices);
    return whyHeldByBudget(session, model, isCounted());
  }

  /** A limit that is over in a moment is the agent's to wait for. */
  async #limited(
    request: AgentRequest,
    answer: ModelAnswer,
    { response, gone }: { readonly response: ServerResponse; readonly gone: AbortSignal },
  ): Promise<void> {
    const { clock, onFault } = this.#parts;
    const { status, headers } = answer;
    const body = await errorBody(answer).catch(() => undefined);
    if (!body) {
      onFault(brokenOff(request.provider));
      return void response.destroy();
    }
    const until = usageLimitOf({ status, headers, body: body.toString("utf8") }, clock.nowMs());
    if (until !== undefined) {
      const detail = `the usage limit of ${request.provider} is reached`;
      return this.#park({ reason: "usage_limit", until, detail }, gone);
    }
    onFault(faultOf(request.provider, status));
    response.writeHead(status, passedOn(headers)).end(body);
  }

  async #pass(request: AgentRequest, answer: ModelAnswer, response: ServerResponse): Promise<void> {
    const { status, headers, body } = answer;
    const meter = new Meter({ api: request.api, contentType: headers["content-type"] ?? "" });
    response.writeHead(status, passedOn(headers));
    response.flushHeaders();
    const isAnswered = status >= 200 && status < 300;
    const charged = isAnswered ? chargedFor(request.api, request.method, request.path) : "nothing";
    const asked = charged === "nothing" ? undefined : request.body;
    let recorded: Promise<void> | undefined;
    const record = () => {
      recorded ??= this.#record(request, meter.end(asked, charged === "input" ? "numbers" : "text"));
      return recorded;
    };
    let isWhole = true;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        meter.push(chunk);
        if (response.destroyed) break;
        // After this chunk the agent goes on, and we may be killed.
        if (meter.isOver) await record();
        if (!response.write(chunk)) await Promise.race([once(response, "drain"), once(response, "close")]);
      }
    } catch {
      // The provider broke off: the agent has to see that, and not an end.
      isWhole = false;
      if (!response.destroyed && !recorded) this.#parts.onFault(brokenOff(request.provider));
    }
    body.destroy();
    await record();
    if (isWhole) response.end();
    else response.destroy();
  }

  /** The agent hung up before the answer began. The provider has read the request, and charges for that. */
  async #recordUnanswered(request: AgentRequest): Promise<void> {
    const { api, method, path, body } = request;
    if (chargedFor(api, method, path) === "nothing") return;
    await this.#record(request, new Meter({ api, contentType: "" }).end(body, "numbers"));
  }

  async #record({ provider, model: asked }: AgentRequest, metered: Metered | undefined): Promise<void> {
    if (!metered) return;
    const { session, task } = this.#parts;
    const prices = this.#prices;
    const { model: answered, hourlyCacheWriteTokens: _, ...usage } = metered;
    const model = answered ?? asked;
    // The answer may use another name, which has no price. The budget let the request go by the price of the model that
    // was asked for.
    const named = prices.of(model) ? model : asked;
    const turn = session.state.openTurn?.turn;
    this.#requests += 1;
    const recorded = session.append("usage_metered", {
      task,
      ...(turn !== undefined && { turn }),
      request: `${task}.${turn ?? 0}.${this.#requests}`,
      provider,
      model: model.slice(0, 200),
      ...usage,
      ...priced(named, metered, prices),
    });
    this.#metered = recorded;
    await recorded;
  }
}

/** With what a person can do: the task goes on by `resume`, which fails again before that is done. */
const detailOf = ({ code, message, wayOut }: HoldfastError) =>
  (code === "key_missing" ? message : `${message}: ${wayOut}`).slice(0, MAX_DETAIL);

const brokenOff = (provider: string) => `${provider} broke off in the middle of an answer`;

/** Its beginning. Fails when the provider breaks off. */
async function errorBody({ body }: ModelAnswer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_ERROR_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function faultOf(provider: string, status: number): string {
  if (status === 401) return `${provider} answered 401: it does not take the key (see holdfast doctor)`;
  return `${provider} answered ${status}: the agent decides whether it asks again`;
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !NOT_PASSED_ON.has(name)) out[name] = value;
  return out;
}
