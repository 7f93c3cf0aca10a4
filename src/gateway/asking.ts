/**
 * Owns a call that a person is asked about, or that acts outside of the session. It is prepared while the
 * agent's processes are frozen, requested, held, and done once.
 *
 * gate-3 What is done is what was approved: after the grant everything is prepared again, and only an action
 *    with the same fingerprint spends it. If anything differs, a new request is made.
 * gate-4 If the same action is asked for twice, there is one request.
 * gate-5 A grant is verified and spent before its action begins, and the record that the action begins comes
 *    before that. An action that needs no grant has such a record too.
 */
import type { GateAnswer } from "../agent/index.ts";
import {
  declarationHash,
  fingerprintOf,
  readOperatorPublicKey,
  spend,
  verifyGrant,
  wasSpent,
} from "../approval/index.ts";
import { type Action, type Grant, HoldfastError, type JsonObject, UNASKED } from "../contract/index.ts";
import {
  type ActingContext,
  type CallContext,
  isActing,
  type PlainTool,
  type Prepared,
  type Tool,
  type ToolOutcome,
} from "../lane/index.ts";
import { enterDecision, workNow } from "../task/index.ts";
import { Decisions } from "./decisions.ts";
import type { GatePlace } from "./place.ts";
import { askedBefore, type Before, findAsked } from "./requests.ts";
import { askWhatHappened } from "./settling.ts";

/** A person would not read more, and could overlook one that matters. */
const MAX_DUE = 20;

/** With the request whose decision it is, if it is one. */
export type Answer = GateAnswer & Pick<ToolOutcome, "decided">;

interface AskedCall extends CallContext {
  /** Whether the lane asks a person about tools of this class. */
  readonly asks: boolean;
  /** The id of the call. */
  readonly call: string;
}

interface AloneCall extends AskedCall {
  /** Lets the next action be prepared before this call has ended. */
  release(): void;
}

/** An action that is not permitted yet. */
interface Wanted {
  readonly prepared: Prepared;
  readonly action: Action;
  readonly fingerprint: string;
}

export class Asking {
  readonly #place: GatePlace;
  readonly #decisions: Decisions;
  /** One action at a time: while one is prepared or done, the task's files do not change. */
  #acting: Promise<unknown> = Promise.resolve();

  constructor(place: GatePlace) {
    this.#place = place;
    this.#decisions = new Decisions(place);
  }

  close(): void {
    this.#decisions.close();
  }

  isAwaited(approval: string): boolean {
    return this.#decisions.isAwaited(approval);
  }

  async answer(tool: Tool, args: JsonObject, call: AskedCall): Promise<Answer> {
    for (;;) {
      const tried = await this.#alone((release) => this.#tryOrAsk(tool, args, { ...call, release }));
      if (typeof tried !== "string") return tried;
      const approval = tried;
      const decision = await this.#decisions.wait(approval, call.signal);
      if (decision.kind === "denied") return refused(denialText(tool, decision.reason));
      if (decision.kind === "undecided")
        return { outcome: "held", text: heldText(tool, approval), facts: { approval } };
    }
  }

  /** Does it if it is permitted now; otherwise makes the request, and returns its approval id. */
  async #tryOrAsk(tool: Tool, args: JsonObject, call: AloneCall): Promise<ToolOutcome | string> {
    const tried = await this.#try(tool, args, call);
    if ("outcome" in tried) return tried;
    const { fingerprint } = tried;
    // gate-4
    const pending = this.#decisions.requestFor(fingerprint);
    if (pending !== undefined) return pending;
    const { denial, spent } = await askedBefore(this.#place.task.room.sessionDir, fingerprint, tool.name);
    // It was denied while no call was waiting: this call gets the denial.
    if (denial !== undefined)
      return { ...refused(denialText(tool, denial.reason)), decided: denial.approval };
    return this.#request(tool, args, tried, spent);
  }

  /** Does it if it is permitted now; otherwise returns what exactly is to be requested. */
  async #try(tool: Tool, args: JsonObject, call: AloneCall): Promise<ToolOutcome | Wanted> {
    using frozen = await this.#place.task.freeze();
    const context = { ...call, thaw: frozen.thaw };
    const prepared = isActing(tool)
      ? await tool.prepare(args, call)
      : await this.#preparePlain(tool, args, { frozen, release: call.release });
    if ("outcome" in prepared) return prepared;
    // Each is awaited here, because what is frozen thaws when this returns.
    if (!call.asks) return await this.#act(tool, prepared, null, context);
    const action = this.#actionOf(tool, args, prepared);
    const fingerprint = fingerprintOf(action);
    const approval = this.#decisions.grantFor(fingerprint);
    if (approval === undefined) return { prepared, action, fingerprint };
    const grant = await this.#verified(approval, fingerprint);
    return await this.#act(tool, prepared, grant, context);
  }

  /** gate-5 */
  async #act(
    tool: Tool,
    prepared: Prepared,
    grant: Grant | null,
    call: Omit<ActingContext, "action"> & Pick<AskedCall, "call">,
  ): Promise<ToolOutcome> {
    const { home, session, task, newId } = this.#place;
    const approval = grant?.approval ?? newId(UNASKED);
    const of = { approval, task: task.number, tool: tool.name };
    await Promise.all([
      session.append("action_begun", { ...of, call: call.call }),
      // An action that nobody was asked about has no decision.
      ...(grant ? [enterDecision(session, approval)] : []),
    ]);
    const acting = prepared.act(grant, { ...call, action: approval });
    const { outcome, text, facts } = await acting.catch(grant ? thrown : thrownUnasked);
    const exitCode = facts?.["exit_code"];
    const isSpent = grant !== null && wasSpent(home.dir, approval);
    const isUnknown = (isSpent || grant === null) && facts?.["isUnknown"] === true;
    await Promise.all([
      // A refusal before the action began spends no grant, and then the grant still permits the action.
      ...(isSpent ? [session.append("approval_spent", { approval })] : []),
      session.append("action_ended", {
        ...of,
        outcome: isUnknown ? "unknown" : outcome === "ok" ? "ok" : "error",
        output: text,
        ...(typeof exitCode === "number" && { exitCode }),
        ...(facts && { facts }),
      }),
    ]);
    if (!isUnknown) return { outcome, text, ...(facts && { facts }) };
    await askWhatHappened(this.#place, of);
    return { outcome, text: `${text}\n${UNKNOWN}`, ...(facts && { facts }) };
  }

  async #verified(approval: string, fingerprint: string): Promise<Grant> {
    const { home, session, task } = this.#place;
    const { request, grant } = await findAsked(task.room.sessionDir, approval);
    const expected = { approval, fingerprint, request, home: home.id, session: session.id };
    return verifyGrant(readOperatorPublicKey(home.dir), grant, expected, this.#decisions.nowMs);
  }

  #actionOf({ name, input, ...tool }: Tool, args: JsonObject, { target, tree }: Prepared): Action {
    const { home, session, task } = this.#place;
    const declaration = "declaration" in tool ? tool.declaration : null;
    return {
      home: home.id,
      user: session.state.user,
      session: session.id,
      task: task.number,
      lane: task.lane.name,
      tool: name,
      schema: declarationHash(input, declaration),
      args,
      target,
      tree,
    };
  }

  /** `before`: the last approval of the same action that was spent. */
  async #request(
    tool: Tool,
    args: JsonObject,
    { prepared, action, fingerprint }: Wanted,
    before: Before["spent"],
  ): Promise<string> {
    const { session, task, newId, waits } = this.#place;
    const due = Object.values(session.state.pending).filter((one) => one.task === task.number);
    if (due.length >= MAX_DUE)
      throw new HoldfastError(
        "arguments_invalid",
        `${due.length} requests are already waiting for a person: wait until some of them are decided`,
      );
    const approval = newId("appr");
    const { base, tree, facts } = prepared;
    // A person is shown exactly what is recorded. With a secret removed, it would be another action.
    const [shown] = await session.redact([{ action: { ...action } }]);
    if (shown && shown.rules.length > 0)
      throw new HoldfastError(
        "arguments_invalid",
        `${tool.name}: its arguments contain a secret (${shown.rules.join(", ")}), so they can't be shown to a person: leave the secret out`,
      );
    await session.append("approval_requested", {
      approval,
      fingerprint,
      tool: tool.name,
      args,
      task: task.number,
      turn: session.state.turns,
      class: tool.class,
      lane: task.lane.name,
      action: { ...action },
      facts: facts.map(([what, text]) => [what, text]),
      ...(tree !== null && { tree }),
      ...(base !== null && { base }),
      ...(before && { previous: before.approval, previousOutcome: before.outcome }),
    });
    waits(`${tool.name} waits for you: holdfast approve ${approval}`);
    return approval;
  }

  /**
   * For a tool that acts inside the session, in a lane that asks about its class: works on the files as they
   * are now.
   */
  async #preparePlain(
    tool: PlainTool,
    args: JsonObject,
    { frozen, release }: { readonly frozen: Disposable } & Pick<AloneCall, "release">,
  ): Promise<Prepared> {
    const { home, session, task } = this.#place;
    const { io, repo, sessionDir } = task.room;
    const work = await workNow({ io, repo, sessionDir }, session.state);
    return {
      target: null,
      tree: work?.tree ?? null,
      base: task.base,
      facts: [["does", `${tool.name}, inside of the session`]],
      act: async (grant, call) => {
        if (call.signal.aborted) return refused("the call was cancelled before anything was done");
        if (grant && !spend(home.dir, grant.approval, { session: session.id }))
          return refused(`grant_invalid: approval ${grant.approval} was already spent`);
        // The processes that it starts may need other processes of the task.
        frozen[Symbol.dispose]();
        release();
        return tool.run(args, call);
      },
    };
  }

  #alone<T>(work: (release: () => void) => Promise<T>): Promise<T> {
    const released = Promise.withResolvers<void>();
    const done = this.#acting.then(() => work(released.resolve));
    const over = () => released.resolve();
    done.then(over, over);
    this.#acting = released.promise;
    return done;
  }
}

const UNKNOWN =
  "Whether it had its effect is not known; a person was asked. Do not make the call again unless that is clear.";

const refused = (text: string): ToolOutcome => ({ outcome: "refused", text });

const denialText = ({ name }: Tool, reason: string) =>
  `A person denied ${name}${reason === "" ? "." : `: ${reason}`} Do not ask for the same action again.`;

const heldText = ({ name }: Tool, approval: string) =>
  `${name} is held: approval ${approval} waits for a person. Nothing was done. You will get a message when it is decided; then make exactly the same call again. If there is nothing else to do, end your turn.`;

/** Whether the grant was spent decides whether the action may have happened. */
function thrown(error: unknown): ToolOutcome {
  const text = error instanceof HoldfastError ? `${error.code}: ${error.message}` : String(error);
  return { outcome: "error", text, facts: { isUnknown: true } };
}

/** Without a grant, an action that fails with a HoldfastError did nothing. */
function thrownUnasked(error: unknown): ToolOutcome {
  if (!(error instanceof HoldfastError)) return thrown(error);
  return { outcome: "error", text: `${error.code}: ${error.message}` };
}
