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
    "Run the supervisor and the HTTP API of a home. It resumes sessions that crashed, starts those that wait, delivers messages between sessions, and archives old sessions. Sessions do not depend on it: they continue when it ends.",
    ["holdfast serve", "holdfast serve --listen 127.0.0.1:7070", "holdfast serve --max-sessions 8"],
  )
    .option(
      "--listen <address>",
      "the loopback address and port to listen on (default: a socket that only you can open)",
    )
    .option(
      "--max-memory <mb>",
      "how much memory the agents of this home may use together; the limit stays in force after serve ends; 0: no limit",
      parseCount,
    )
    .option(
      "--max-sessions <n>",
      "how many sessions may run at once; the limit stays in force after serve ends; 0: no limit",
      parseCount,
    )
    .action(async (options: Options) => {
      const address = options.listen === undefined ? undefined : parseAddress(options.listen);
      const dispatcher = await openDispatcher(options, { create: true, isService: true });
      const { maxSessions, maxMemory } = options;
      // 0 removes the limit.
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
          note(`requests to the API need the token in ${token}; docs/protocol.md shows how`);
        },
      });
    });
}
