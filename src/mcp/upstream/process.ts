/**
 * Owns how an upstream server is started: in a sandbox of its own, with its own HOME, variables and hosts,
 * and without access to the capsule unless its entry asks for that.
 *
 * upstream-2 It does not use the task's network: it reaches its own hosts, or none.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { giveTo } from "../../capsule/index.ts";
import type { ServerSettings } from "../../config/index.ts";
import { HoldfastError, isHoldfastError, type Values } from "../../contract/index.ts";
import { Contacts } from "../../network/index.ts";
import { baseEnvironment, launch, runCommand, type Sandbox } from "../../process/index.ts";
import { findExecutable, type TaskInHand, toolsOf, type WorkNetwork, withHosts } from "../../task/index.ts";
import { serversDir } from "../../util/index.ts";
import type { ServerProcess, StartServer } from "./pipe.ts";

export interface ServerStart {
  readonly task: TaskInHand;
  readonly name: string;
  readonly settings: ServerSettings;
  readonly values: Values;
  readonly onComplaint: (chunk: Buffer) => void;
}

/** HOME, TMPDIR, and an empty directory in place of files if it sees none. */
const OWN = ["home", "tmp", "empty"] as const;

export function serverStart(of: ServerStart): StartServer {
  return async (onOutput, onEnd) => {
    const { task, settings } = of;
    if (!task.sandbox)
      throw new HoldfastError("sandbox_missing", "MCP servers run only in a sandbox, and this task has none");
    const sandbox = await sandboxFor(of, task.sandbox);
    const ending = new AbortController();
    const started = Promise.withResolvers<ServerProcess>();
    const run = (network?: WorkNetwork) =>
      runIn({ ...of, sandbox, network, ending, onOutput, started: started.resolve });
    const { hosts } = settings;
    const reach = { hosts, onRefused: () => {}, contacts: new Contacts(), allowing: () => "its hosts" };
    const running = hosts.length > 0 ? withHosts(reach, run) : run();
    running.then(
      (why) => onEnd(why),
      (error: unknown) => {
        started.reject(error);
        onEnd(error instanceof Error ? error.message : String(error));
      },
    );
    return started.promise;
  };
}

async function sandboxFor({ task, settings }: ServerStart, own: Sandbox): Promise<Sandbox> {
  const { hosts, files } = settings;
  const tools = await toolsOf(task.room.io.homeDir, { checkout: own.at, hosts });
  const seen = files === "none" ? { borrowed: [], readable: [] } : {};
  return { ...own, ...seen, tools, isReadOnly: files !== "write" || task.lane.isReadOnly };
}

interface Run extends ServerStart {
  readonly sandbox: Sandbox;
  readonly network: WorkNetwork | undefined;
  readonly ending: AbortController;
  readonly onOutput: (chunk: Buffer) => void;
  readonly started: (process: ServerProcess) => void;
}

/** It may be a file of the task, or is not there at all: then the start fails by itself. */
function unlessMissing(error: unknown): null {
  if (isHoldfastError(error, "program_missing")) return null;
  throw error;
}

/** Resolves when the server has ended, with a text that tells how. */
async function runIn({ task, name, settings, values, sandbox, network, ...of }: Run): Promise<string> {
  const executable = await findExecutable(sandbox, settings.run[0] ?? "", null).catch(unlessMissing);
  const dir = join(serversDir(task.room.sessionDir), name);
  for (const one of OWN) {
    await mkdir(join(dir, one), { recursive: true, mode: 0o700 });
    giveTo(sandbox.user, join(dir, one));
  }
  const [home, tmp, empty] = [join(dir, "home"), join(dir, "tmp"), join(dir, "empty")];
  const view = settings.files === "none" ? undefined : await task.capsule.attach();
  // upstream-2
  const alone = { enter: view?.enterFiles ?? [], hasNetwork: false };
  const launched = launch(sandbox, {
    command: settings.run,
    tree: view?.workTree ?? empty,
    entry: network?.entry ?? alone,
    env: baseEnvironment({ HOME: home, ...network?.environment, ...values }),
    writable: [home],
    tmp,
  });
  const isWriter = view !== undefined && !sandbox.isReadOnly;
  const start = async () => {
    if (isWriter) await task.capsule.unsettle();
    const writer = isWriter ? task.last.beginWriter() : undefined;
    const isThere = Promise.withResolvers<void>();
    const running = runCommand({
      ...launched,
      hasInput: true,
      signal: of.ending.signal,
      onOutput: (chunk, stream) => (stream === "stdout" ? of.onOutput(chunk) : of.onComplaint(chunk)),
      onStart: (pid, input) => {
        if (input) of.started({ pid, input, executable, end: () => of.ending.abort() });
        isThere.resolve();
      },
    }).finally(() => writer?.end());
    await Promise.race([isThere.promise, running]);
    return { running };
  };
  // gate-8
  const { running } = isWriter ? await task.beginnings.begin(start) : await start();
  const { exitCode, signal } = await running;
  return `it ended with ${signal ?? `status ${exitCode}`}`;
}
