/**
 * An operator, for tests of the gate: a key in the home, and grants for the approvals that the gate requests.
 */
import { type KeyObject, sign } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { fingerprintOf, signedBytes, spend } from "../../src/approval/index.ts";
import { operatorPublicPath } from "../../src/approval/operator-public.ts";
import type { Action, Grant, GrantTerms, JsonObject } from "../../src/contract/index.ts";
import type { ActingTool, ToolOutcome } from "../../src/lane/index.ts";
import { type Decision, recordDecision, subjectOf } from "../../src/task/index.ts";
import { operatorDir } from "../../src/util/index.ts";
import { keyPair } from "./approvals.ts";
import type { GateHome } from "./gates.ts";

const TEN_MINUTES_MS = 10 * 60_000;

export class Operator {
  readonly #home: GateHome;
  readonly key: KeyObject;

  constructor(home: GateHome) {
    const { publicKey, privateKey } = keyPair();
    this.#home = home;
    this.key = privateKey;
    mkdirSync(operatorDir(home.dir), { recursive: true, mode: 0o700 });
    const pem = publicKey.export({ type: "spki", format: "pem" });
    writeFileSync(operatorPublicPath(home.dir), pem, { mode: 0o600 });
  }

  /** Waits for the first, the second or the last request. */
  async request(
    which: number | "last" = 1,
  ): Promise<{ readonly data: JsonObject; readonly seq: number; readonly hash: string }> {
    const hf = await this.#home.open();
    for (;;) {
      const found = [];
      for await (const record of hf.readJournal(this.#home.session.id))
        if (record.type === "approval_requested") found.push(record);
      const last = which === "last" ? found.at(-1) : found[which - 1];
      if (last) return last;
    }
  }

  /** Puts a grant on record, as a person's yes does; `changed` is what is wrong with it. */
  async approve(
    which: number | "last" = 1,
    changed: Partial<GrantTerms> = {},
    key = this.key,
  ): Promise<Grant> {
    const grant = await this.sign(which, changed, key);
    const { data } = await this.request(which);
    await this.record(String(data["approval"]), grant);
    return grant;
  }

  async sign(which: number | "last" = 1, changed: Partial<GrantTerms> = {}, key = this.key): Promise<Grant> {
    const { data, seq, hash } = await this.request(which);
    const nowMs = this.#home.task.room.io.clock.nowMs();
    const terms: GrantTerms = {
      version: 1,
      approval: String(data["approval"]),
      request: { seq, hash },
      home: this.#home.homeId,
      session: this.#home.session.id,
      fingerprint: String(data["fingerprint"]),
      by: "user:ani",
      grantedAt: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + TEN_MINUTES_MS).toISOString(),
      ...changed,
    };
    return { ...terms, signature: sign(null, signedBytes(terms), key).toString("base64") };
  }

  async record(approval: string, grant: Grant): Promise<void> {
    const { expiresAt } = grant;
    const recorded = { ...grant, request: { ...grant.request } };
    await this.#home.session.append("approval_granted", {
      approval,
      by: "user:ani",
      grant: recorded,
      expiresAt,
    });
  }

  /** Puts a decision on record as the session process does. */
  decide(decision: Decision): Promise<void> {
    const { dir, session, gate, task } = this.#home;
    const newId = (prefix: string) => `${prefix}_of_${subjectOf(decision)}`;
    const io = { ...task.room.io, redact: session.redact };
    const home = { dir, id: this.#home.homeId, io, newId };
    const isAwaited = (request: string) => gate.isAwaited(request);
    return recordDecision(home, session, { decision, by: "user:ani", isAwaited });
  }

  fingerprintOf(action: Action): string {
    return fingerprintOf(action);
  }
}

/** An external tool whose effects can be counted, and whose declaration, target and tree can be changed. */
export class CountedTool implements ActingTool {
  readonly name = "publish_page";
  readonly class = "external";
  readonly description = "Publishes a page.";
  input: JsonObject = {
    type: "object",
    properties: { title: { type: "string" }, count: { type: "integer" }, deep: { type: "object" } },
    required: ["title"],
    additionalProperties: false,
  };
  declaration: JsonObject = { run: ["publish"], env: ["TOKEN"] };
  target: JsonObject = { url: "https://example.org:443/pages" };
  tree: string | null = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  readonly effects: JsonObject[] = [];
  /** Whether it refuses before it spends anything. */
  isAway = false;
  onAct: () => Promise<void> = async () => {};
  readonly #homeDir: string;

  constructor(homeDir: string) {
    this.#homeDir = homeDir;
  }

  async prepare(args: JsonObject) {
    return {
      target: this.target,
      tree: this.tree,
      base: null,
      facts: [["reaches", "example.org"]] as const,
      act: async (grant: Grant | null): Promise<ToolOutcome> => {
        if (this.isAway) return { outcome: "refused", text: "it is away, so nothing was done" };
        if (grant && !spend(this.#homeDir, grant.approval, {}))
          return { outcome: "refused", text: "it was already spent" };
        await this.onAct();
        this.effects.push(args);
        return { outcome: "ok", text: "published" };
      },
    };
  }
}
