/**
 * Owns one upstream MCP server of a task. It is started when its tools are first needed, in a sandbox of its
 * own, and a few times again if it ends. If it hangs, crashes, floods its output or changes its tools, only
 * its own calls fail.
 *
 * upstream-1 Its tools are offered only while their list is the one that was pinned when its entry was
 *    accepted.
 * upstream-4 An action is done by the process that was running when it was prepared. No server is started
 *    during an action, because nothing begins in the task's files then. Before an action, the server has to
 *    show that it is there: its end may not have been reported yet.
 * upstream-3 An action that it did not answer, because it hung, ended or was stopped, has an unknown outcome.
 *    It is not reported as failed.
 */
import { Client, ProtocolError } from "@modelcontextprotocol/client";
import { spend } from "../../approval/index.ts";
import type { ServerSettings } from "../../config/index.ts";
import { HoldfastError, type Json, type JsonObject } from "../../contract/index.ts";
import type { ActingTool, CallContext, PlainTool, Prepared, Tool, ToolOutcome } from "../../lane/index.ts";
import { type Clock, deadline } from "../../util/index.ts";
import { type Listed, type Listing, listTools } from "./listing.ts";
import { Pipe, type StartServer } from "./pipe.ts";
import { textOf } from "./result.ts";

const SECOND_MS = 1000;
const MAX_STARTS = 4;
/** A server that does not answer a ping within this time may still do an action. */
const PING_MS = 2000;

/** What the task provides for a server. */
export interface ServerPlace {
  readonly name: string;
  readonly settings: ServerSettings;
  readonly clock: Clock;
  /** How long it may take to start and to list its tools. */
  readonly openMs: number;
  readonly homeDir: string;
  readonly session: string;
  readonly start: StartServer;
  /** The end of its standard error, for error messages. */
  said(): string;
  /** Whether this is the list that was accepted. The first list is accepted with the entry. */
  isPinned(hash: string): Promise<boolean>;
  /** Records that an action without a grant begins. */
  begin(action: string): Promise<unknown>;
  /** The tree of the work, for a server that sees files; null for one that sees none. */
  tree(): Promise<string | null>;
  /** Removes the values of its variables from its texts. */
  redact(text: string): string;
}

interface Opened {
  readonly client: Client;
  readonly pipe: Pipe;
  readonly listing: Listing;
}

/** A call of one of its tools that acts. */
interface Wanted {
  readonly server: string;
  readonly name: string;
  /** Of the list of its tools. */
  readonly hash: string;
  readonly args: JsonObject;
}

export class UpstreamServer {
  readonly #place: ServerPlace;
  #opened: Promise<Opened> | undefined;
  #running: Opened | undefined;
  #starts = 0;
  /** Whether it reported that its tools have changed. */
  #isStale = false;
  /** Why it can't be used at all. That is found out once per task. */
  #unusable: HoldfastError | undefined;

  constructor(place: ServerPlace) {
    this.#place = place;
  }

  get name(): string {
    return this.#place.name;
  }

  /** Empty when it can't be asked; `onFailure` gets the reason. */
  async tools(onFailure: (why: string) => void): Promise<readonly Tool[]> {
    try {
      const { listing } = await this.#open();
      return listing.tools.map((tool) => this.#tool(tool, listing.hash));
    } catch (error) {
      onFailure(`${this.#place.name}: ${wordsOf(error)}`);
      return [];
    }
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.client.close().catch(() => {});
  }

  /** One after another: of several calls at once, the first starts it, and the others find it running. */
  #open(): Promise<Opened> {
    const opened = (this.#opened ?? Promise.resolve(undefined)).then(
      (there) => this.#openAfter(there),
      () => this.#openAfter(undefined),
    );
    this.#opened = opened;
    opened.catch(() => {});
    return opened;
  }

  async #openAfter(there: Opened | undefined): Promise<Opened> {
    if (there && this.#isOpen(there)) return there;
    if (this.#isStale) await there?.client.close().catch(() => {});
    this.#isStale = false;
    if (this.#unusable) throw this.#unusable;
    if (this.#starts >= MAX_STARTS) throw failed(`it ended ${MAX_STARTS} times, so it is not started again`);
    return this.#begin().catch((error: unknown) => {
      this.#unusable = error instanceof HoldfastError ? error : failed(wordsOf(error));
      throw this.#unusable;
    });
  }

  #isOpen({ pipe }: Opened): boolean {
    return pipe.whyClosed === undefined && !this.#isStale;
  }

  async #begin(): Promise<Opened> {
    this.#starts += 1;
    const { name, clock, openMs, start, said, isPinned, redact } = this.#place;
    const pipe = new Pipe(start);
    const client = new Client({ name: "holdfast", version: "1" });
    try {
      const patience = deadline(clock, openMs);
      await client.connect(pipe, { timeout: patience.leftMs });
      const listing = await listTools(client, patience);
      // upstream-1
      if (!(await isPinned(listing.hash)))
        throw failed(
          "its tools are not those that were accepted: review them, then accept the file again with holdfast trust --forget and holdfast trust",
        );
      // Before its next call it is started anew, asked for its tools, and compared with its pin.
      client.setNotificationHandler("notifications/tools/list_changed", () => {
        this.#isStale = true;
      });
      this.#running = { client, pipe, listing };
      return this.#running;
    } catch (error) {
      const why = pipe.whyClosed ?? wordsOf(error);
      await client.close().catch(() => {});
      const last = redact(said());
      throw failed(`MCP server ${name} can't be used: ${why}${last === "" ? "" : `; it said: ${last}`}`);
    }
  }

  #tool({ name, description, input }: Listed, hash: string): Tool {
    const { name: server, settings } = this.#place;
    const kind = Object.hasOwn(settings.classes, name) ? settings.classes[name] : settings.class;
    const common = {
      ...{ name: `${server}__${name}`, class: kind ?? settings.class },
      input: withTexts(input, this.#place.redact),
      description: this.#place.redact(description),
      isForeign: true,
    };
    const run: PlainTool["run"] = async (args, call) => this.#call(await this.#open(), name, args, call);
    if (common.class !== "external") return { ...common, isSilent: common.class === "read", run };
    const acting: ActingTool = {
      ...common,
      declaration: { server: JSON.parse(JSON.stringify(settings)) as JsonObject, tools: hash },
      prepare: async (args) => this.#prepared({ server, name, hash, args }),
    };
    return acting;
  }

  async #prepared({ server, name, hash, args }: Wanted): Promise<Prepared | ToolOutcome> {
    const { settings, homeDir, session, tree } = this.#place;
    const { run, hosts, env } = settings;
    const running = this.#running;
    // One that may see the files stands still now.
    if (running && settings.files === "none") await this.#lookAt(running);
    if (!running || !this.#isOpen(running))
      return {
        outcome: "refused",
        text: `${server} ended just now, so nothing was done: make the call again`,
      };
    const executable = running.pipe.server?.executable ?? null;
    return {
      target: {
        ...{ server, tool: name, tools: hash, run: [...run], hosts: [...hosts] },
        executable: executable && { ...executable },
      },
      tree: await tree(),
      base: null,
      facts: [
        ["server", `${server}: ${run.join(" ")}`],
        ["reaches", hosts.length === 0 ? "no host" : hosts.join(", ")],
        ...(env.length > 0 ? ([["variables", env.join(", ")]] as const) : []),
      ],
      act: async (grant, call) => {
        // It may see the task's files, and is then among the processes that stand still.
        if (running.pipe.server) call.thaw(running.pipe.server.pid);
        if (settings.files !== "none") await this.#lookAt(running);
        // upstream-4: a server that is gone must not cost a grant.
        if (!this.#isOpen(running))
          return { outcome: "refused", text: `${server} ended, so nothing was done: make the call again` };
        if (call.signal.aborted)
          return { outcome: "refused", text: "the call was cancelled before anything was done" };
        if (grant && !spend(homeDir, grant.approval, { session }))
          return { outcome: "refused", text: `grant_invalid: approval ${grant.approval} was already spent` };
        // After a crash, this shows that it may have been done.
        if (!grant) await this.#place.begin(call.action);
        return this.#call(running, name, args, call);
      },
    };
  }

  /** After this, it is known whether the server has ended. One that is only slow is not waited for. */
  async #lookAt({ client }: Opened): Promise<void> {
    await client.ping({ timeout: PING_MS }).catch(() => {});
  }

  async #call(
    { client, pipe, listing }: Opened,
    name: string,
    args: JsonObject,
    { signal, progress }: CallContext,
  ): Promise<ToolOutcome> {
    const { redact } = this.#place;
    if (!listing.tools.some((tool) => tool.name === name))
      throw failed(`the server does not have the tool ${name} any more`);
    try {
      const result = await client.callTool(
        { name, arguments: args },
        {
          signal,
          timeout: this.#place.settings.timeout_seconds * SECOND_MS,
          resetTimeoutOnProgress: false,
          onprogress: ({ message, progress: at, total }) =>
            progress(redact(message ?? (total === undefined ? String(at) : `${at} of ${total}`))),
        },
      );
      const text = redact(textOf(result));
      return { outcome: result.isError ? "error" : "ok", text };
    } catch (error) {
      const why = pipe.whyClosed ?? wordsOf(error);
      const text = redact(`${this.#place.name}: ${why}`);
      // upstream-3: the server itself said no, or gave no answer at all.
      return { outcome: "error", text, facts: error instanceof ProtocolError ? {} : { isUnknown: true } };
    }
  }
}

/** With every text of it changed, keys too. */
function withTexts(object: JsonObject, change: (text: string) => string): JsonObject {
  const changed = (value: Json): Json => {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map(changed);
    return value === null || typeof value !== "object" ? value : withTexts(value, change);
  };
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [change(key), changed(value)]));
}

const failed = (why: string) => new HoldfastError("tool_failed", why);

const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).slice(0, 1000);
