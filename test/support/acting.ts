/**
 * A home with a task whose external tools can be called, and an operator who grants: with a real key and real
 * records, and without a gate.
 */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { declarationHash, fingerprintOf, signedBytes } from "../../src/approval/index.ts";
import { operatorPublicPath } from "../../src/approval/operator-public.ts";
import type { Action, Grant, GrantTerms, JsonObject } from "../../src/contract/index.ts";
import { type Home, openHome } from "../../src/home/index.ts";
import type { ActingContext, ActingTool, Prepared, ToolOutcome } from "../../src/lane/index.ts";
import type { Session } from "../../src/session/session.ts";
import type { Task } from "../../src/task/task.ts";
import { operatorDir, systemClock } from "../../src/util/index.ts";
import { type ActingPlace, externalTools } from "../../src/worker/index.ts";
import { commitFiles } from "./repo.ts";
import { TaskHome, turn } from "./tasks.ts";
import { acceptFile } from "./trust.ts";

export const MINUTE_MS = 60_000;

export interface Wanted {
  readonly tool: ActingTool;
  readonly args: JsonObject;
  readonly prepared: Prepared;
  readonly action: Action;
}

export class ActingHome extends TaskHome implements AsyncDisposable {
  readonly #key: KeyObject;
  #place: (ActingPlace & { readonly home: Home }) | undefined;

  /** With the key pair of an operator in the home. */
  constructor(files: Record<string, string> = { "a.txt": "one\n" }) {
    super(files);
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    this.#key = privateKey;
    mkdirSync(operatorDir(this.dir), { recursive: true, mode: 0o700 });
    writeFileSync(operatorPublicPath(this.dir), publicKey.export({ type: "spki", format: "pem" }), {
      mode: 0o600,
    });
  }

  get place(): ActingPlace & { readonly home: Home } {
    if (!this.#place) throw new Error("no task was begun");
    return this.#place;
  }

  get session(): Session {
    return this.place.task.room.session;
  }

  get task(): Task {
    return this.place.task as Task;
  }

  /**
   * Begins a task whose agent has run the script. `config`: holdfast.yaml, which is committed and accepted.
   * `clock`: of the session's records. A worker has the machine's.
   */
  async begin(config: string, script = "echo two > a.txt", clock = systemClock): Promise<void> {
    if (config !== "") {
      commitFiles(this.main, { "holdfast.yaml": config }, "tools");
      await acceptFile(this);
    }
    const hf = await this.open({ clock });
    const { task } = await this.start(hf);
    await turn(task, script);
    const home: Home = await openHome({ home: this.dir });
    this.#place = { home, task };
  }

  async tool(name: string): Promise<ActingTool> {
    const found = (await externalTools(this.place)).find((one) => one.name === name);
    if (!found) throw new Error(`there is no tool ${name}`);
    return found;
  }

  async prepare(name: string, args: JsonObject): Promise<Wanted> {
    const tool = await this.tool(name);
    const prepared = await tool.prepare(args, quiet());
    if ("outcome" in prepared) throw new Error(prepared.text);
    return { tool, args, prepared, action: this.actionOf(tool, args, prepared) };
  }

  /** The action as the gate makes it. */
  actionOf(tool: ActingTool, args: JsonObject, { target, tree }: Pick<Prepared, "target" | "tree">): Action {
    const { home, task } = this.place;
    return {
      home: home.id,
      user: this.session.state.user,
      session: this.session.id,
      task: task.number,
      lane: task.lane.name,
      tool: tool.name,
      schema: declarationHash(tool.input, tool.declaration),
      args,
      target,
      tree,
    };
  }

  /** An operator's grant for exactly this action. */
  async grant(action: Action, more: Partial<GrantTerms> = {}): Promise<Grant> {
    const approval = this.place.home.newId("appr");
    const fingerprint = fingerprintOf(action);
    const { tool, args, task } = action;
    const record = await this.session.append("approval_requested", {
      approval,
      fingerprint,
      tool,
      args,
      task,
    });
    const nowMs = this.place.home.io.clock.nowMs();
    const terms: GrantTerms = {
      version: 1,
      approval,
      request: { seq: record.seq, hash: record.hash },
      home: action.home,
      session: action.session,
      fingerprint,
      by: "user:ani",
      grantedAt: new Date(nowMs - 1000).toISOString(),
      expiresAt: new Date(nowMs + 5 * MINUTE_MS).toISOString(),
      ...more,
    };
    return this.signed(terms);
  }

  signed(terms: GrantTerms, key: KeyObject = this.#key): Grant {
    return { ...terms, signature: sign(null, signedBytes(terms), key).toString("base64") };
  }

  /** Prepares a call, grants it and makes it. */
  async call(name: string, args: JsonObject, more: Partial<GrantTerms> = {}): Promise<ToolOutcome> {
    const { prepared, action } = await this.prepare(name, args);
    return prepared.act(await this.grant(action, more), quiet());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#place?.task.rest().catch(() => {});
    await this.#place?.task.room.session.release().catch(() => {});
    this[Symbol.dispose]();
  }

  /** Every file below the home that has this text in it. */
  filesWith(text: string): string[] {
    return filesBelow(this.dir).filter((path) => readFileSync(path).includes(text));
  }
}

export const quiet = (signal = new AbortController().signal): ActingContext => ({
  signal,
  progress: () => {},
  action: `act_${randomUUID().replaceAll("-", "")}`,
  thaw: () => {},
});

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export const besideHome = (home: ActingHome, name: string) => join(dirname(home.dir), name);
