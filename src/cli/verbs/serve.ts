import type { Command } from "commander";
import { defaultUser } from "../../home/index.ts";
import { apiTokenPath, parseAddress, serve } from "../../server/index.ts";
import { note, say, sayJson } from "../screen.ts";
import { type CommonOptions, homeVerb, openDispatcher, parseCount } from "../verb.ts";

type Options = CommonOptions & {
  readonly listen?: string;
  readonly maxMemory?: number;
  readonly maxSessions?: number;
};

const MEGABYTE = 1024 * 1024;

export function command(): Command {
  return homeVerb(
    "serve",
    "Look after a home: resume what crashed, start what waits, carry messages, archive what is old; and answer its API. Sessions do not need it, and go on when it ends.",
    ["holdfast serve", "holdfast serve --listen 127.0.0.1:7070", "holdfast serve --max-sessions 8"],
  )
    .option("--listen <address>", "a loopback address and a port (default: a socket that only you can open)")
    .option(
      "--max-memory <mb>",
      "agents of this home need no more than this together; kept; 0: no limit",
      parseCount,
    )
    .option("--max-sessions <n>", "so many sessions run at once at most; kept; 0: no limit", parseCount)
    .action(async (options: Options) => {
      const address = options.listen === undefined ? undefined : parseAddress(options.listen);
      const dispatcher = await openDispatcher(options, { create: true, isQuiet: true });
      const { maxSessions, maxMemory } = options;
      // 0 lifts it.
      await dispatcher.limit({
        ...(maxSessions !== undefined && { maxSessions: maxSessions || null }),
        ...(maxMemory !== undefined && { maxMemoryBytes: maxMemory * MEGABYTE || null }),
      });
      const stop = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort());
      await serve(dispatcher, {
        ...(address && { address }),
        signal: stop.signal,
        say: (text) => (options.json ? sayJson({ said: text }) : note(text)),
        onReady: (where) => {
          const token = apiTokenPath(dispatcher.home, defaultUser());
          if (options.json) return sayJson({ address: where, token });
          say(`serving ${dispatcher.home.dir} at ${where}`);
          note(`the API wants the token in ${token}; docs/protocol.md says how`);
        },
      });
    });
}
