/**
 * Owns the upstream servers of a task: those of the repo's file that were accepted. Each is independent of
 * the others.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerSettings } from "../../config/index.ts";
import type { Values } from "../../contract/index.ts";
import type { GatePlace } from "../../gateway/index.ts";
import { changeTrust, pinning, type Tool } from "../../lane/index.ts";
import { trustPlace, workNow } from "../../task/index.ts";
import { sha256Hex } from "../../util/index.ts";
import { beginUnasked } from "../../worker/index.ts";
import { serverStart } from "./process.ts";
import { UpstreamServer } from "./server.ts";

/** How long servers are waited for that may hang. */
export interface Patience {
  /** For one to start and to list its tools, all pages together. Starting may take longer than any call. */
  readonly openMs: number;
  /** For a client that lists the tools of all of them. */
  readonly listMs: number;
}

const PATIENCE: Patience = { openMs: 30_000, listMs: 20_000 };

/** How much of a server's standard error is reported. */
const MAX_SAID = 1000;

export interface ServersPlace extends Pick<GatePlace, "home" | "session" | "task"> {
  readonly servers: Readonly<Record<string, ServerSettings>>;
  /** The variables that a server is given. Fails if one has no value. */
  secrets(names: readonly string[]): Promise<Values>;
  /** Called once for each reason why a server can't be used. */
  onFailure(why: string): void;
  readonly patience?: Patience;
}

export class UpstreamServers {
  readonly #place: ServersPlace;
  readonly #servers: readonly UpstreamServer[];
  readonly #told = new Set<string>();
  readonly #patience: Patience;

  constructor(place: ServersPlace) {
    this.#place = place;
    this.#patience = place.patience ?? PATIENCE;
    this.#servers = Object.entries(place.servers).map(
      ([name, settings]) => new UpstreamServer(this.#placeOf(name, settings)),
    );
  }

  /**
   * The tools of all servers that are ready in time, asked at the same time, or of the server that a tool of
   * this name would belong to.
   */
  async tools(tool?: string): Promise<readonly Tool[]> {
    const asked = this.#servers.filter(({ name }) => tool === undefined || tool.startsWith(`${name}__`));
    const onFailure = (why: string) => {
      if (this.#told.has(why)) return;
      this.#told.add(why);
      this.#place.onFailure(why);
    };
    if (tool !== undefined) return (await Promise.all(asked.map((server) => server.tools(onFailure)))).flat();
    const over = new AbortController();
    const { listMs } = this.#patience;
    // A server that hangs says nothing.
    const late = sleep(listMs, true, { signal: over.signal }).catch(() => false);
    const ready = asked.map(async (server) => {
      const listed = await Promise.race([server.tools(onFailure), late]);
      if (typeof listed !== "boolean") return listed;
      onFailure(`${server.name}: it is not ready after ${listMs / 1000} s, so its tools are not listed yet`);
      return [];
    });
    return (await Promise.all(ready).finally(() => over.abort())).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  #placeOf(name: string, settings: ServerSettings): ConstructorParameters<typeof UpstreamServer>[0] {
    const { home, session, task, secrets } = this.#place;
    const { io, repo, sessionDir } = task.room;
    let said = "";
    let values: Values = {};
    return {
      name,
      settings,
      clock: home.io.clock,
      openMs: this.#patience.openMs,
      homeDir: home.dir,
      session: session.id,
      start: async (onOutput, onEnd) => {
        values = await secrets(settings.env);
        const onComplaint = (chunk: Buffer) => {
          said = redacted(said + chunk.toString("utf8"), values).slice(-MAX_SAID);
        };
        return serverStart({ task, name, settings, values, onComplaint })(onOutput, onEnd);
      },
      said: () => said.trim(),
      isPinned: async (hash) => {
        const entry = `${name} ${sha256Hex(JSON.stringify(settings))}`;
        const trust = await changeTrust(trustPlace(task.room), home.io.disk, (before) =>
          pinning(before, entry, hash),
        );
        return trust.pins[entry] === hash;
      },
      begin: (action) => beginUnasked(sessionDir, task.number, action),
      tree: async () => {
        if (settings.files === "none") return null;
        return (await workNow({ io, repo, sessionDir }, session.state))?.tree ?? null;
      },
      redact: (text) => redacted(text, values),
    };
  }
}

/** A shorter value appears in many texts by chance. */
const MIN_VALUE = 6;

function redacted(text: string, values: Values): string {
  return Object.entries(values).reduce(
    (left, [name, value]) => (value.length < MIN_VALUE ? left : left.replaceAll(value, `[${name}]`)),
    text,
  );
}
