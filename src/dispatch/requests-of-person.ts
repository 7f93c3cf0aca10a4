/**
 * Owns what waits for a person: listing it for all sessions of a user, and carrying out what the person
 * decides.
 */
import { type Grant, HoldfastError } from "../contract/index.ts";
import { type FoundSession, findSession, type Home } from "../home/index.ts";
import type { LocalHome } from "../library/index.ts";
import type { Decision } from "../task/index.ts";
import { type DecisionMade, decide } from "./deciding.ts";
import { bringKeysAgain } from "./own-keys.ts";
import { type AskedOfPerson, requestsIn } from "./requests.ts";

interface Scope {
  readonly user?: string;
}

export class Requests {
  readonly #holdfast: LocalHome;
  readonly #home: Home;

  constructor({ home, holdfast }: { readonly home: Home; readonly holdfast: LocalHome }) {
    this.#home = home;
    this.#holdfast = holdfast;
  }

  /** Those of one session, in the order in which they were asked. */
  async of(id: string, scope: Scope = {}): Promise<AskedOfPerson[]> {
    return requestsIn(await this.#find(id, scope));
  }

  /** Those of all sessions of a user, oldest first. */
  async all(scope: Scope = {}): Promise<AskedOfPerson[]> {
    const sessions = await this.#holdfast.listSessions(scope);
    const waiting = sessions.filter(({ pending }) => Object.keys(pending).length > 0);
    const found = await Promise.all(waiting.map(({ id }) => this.of(id, scope)));
    return found.flat().sort((one, other) => (one.at < other.at ? -1 : 1));
  }

  /** By its id, or the beginning of it, with or without the part before the `_`. */
  async find(kind: AskedOfPerson["kind"], prefix: string, scope: Scope = {}): Promise<AskedOfPerson> {
    const tail = prefix.slice(prefix.indexOf("_") + 1).toLowerCase();
    const all = (await this.all(scope)).filter((one) => one.kind === kind);
    const those = all.filter(({ id }) => tail !== "" && id.slice(id.indexOf("_") + 1).startsWith(tail));
    const [only, ...others] = those;
    if (!only)
      throw new HoldfastError(
        "approval_not_found",
        `no waiting ${kind} has an id that begins with ${JSON.stringify(prefix)}`,
      );
    if (others.length === 0) return only;
    throw new HoldfastError(
      "ambiguous_id",
      `${those.length} ids begin with ${prefix}: ${those.map(({ id }) => id).join(", ")}`,
    );
  }

  /** A grant that an operator signed. A task that was parked for it goes on. */
  approve(id: string, grant: Grant, scope: Scope = {}): Promise<DecisionMade> {
    return this.#decide(id, { kind: "grant", grant: { ...grant } }, scope);
  }

  deny(id: string, approval: string, reason: string, scope: Scope = {}): Promise<DecisionMade> {
    return this.#decide(id, { kind: "deny", approval, reason }, scope);
  }

  answer(id: string, question: string, text: string, scope: Scope = {}): Promise<DecisionMade> {
    return this.#decide(id, { kind: "answer", question, text }, scope);
  }

  async #decide(id: string, decision: Decision, scope: Scope): Promise<DecisionMade> {
    const found = await this.#find(id, scope);
    // The keys of the caller who lets the session go on are used.
    await bringKeysAgain(this.#home, found);
    return decide(this.#home, this.#holdfast, found, decision);
  }

  #find(id: string, { user }: Scope): Promise<FoundSession> {
    return findSession(this.#home, id, ...(user === undefined ? [] : [user]));
  }
}
