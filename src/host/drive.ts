/**
 * Owns what a task hangs on while a session process runs it: the file of its output, its terminal, its messages, the
 * shells beside it, and the watch over what it takes. All of it is there before its first process, and gone after the
 * last.
 */
import type { Writable } from "node:stream";
import { giveTo } from "../capsule/index.ts";
import type { Parked, TaskSpec } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import { addPeak } from "../line/index.ts";
import { patternFor } from "../network/index.ts";
import { refusalsFromNow } from "../process/index.ts";
import type { Session } from "../session/index.ts";
import {
  type Driven,
  type Feed,
  type Joined,
  outputRoom,
  runStages,
  type Task,
  valuesFor,
  Watch,
} from "../task/index.ts";
import { present } from "../util/index.ts";
import { keepSpooled } from "./kept-output.ts";
import type { ModelRoute, RouteOptions } from "./model-route.ts";
import type { Shells } from "./shells.ts";
import { Spool } from "./spool.ts";
import { SpooledProgress } from "./spooled-progress.ts";
import type { TaskHosts } from "./task-hosts.ts";
import type { TerminalSocket } from "./terminal-socket.ts";

/** What a session process has for its tasks. */
export interface HostParts {
  readonly home: Home;
  readonly session: Session;
  readonly feed: Feed;
  readonly shells: Shells;
  /** The directory of the door, which is open from then on. */
  door(): Promise<string>;
  terminal(): Promise<TerminalSocket>;
  /** What is said of hosts while the task runs that writes to this spool. */
  hosts(spool: Spool): TaskHosts;
  /** There is something new to see. */
  news(): void;
}

/** What is to be run, until it ends or is stopped. */
export interface Assignment {
  readonly request: string;
  readonly spec: TaskSpec;
  readonly stop: AbortSignal;
}

/** A task of the queue, or the one that was cut off. */
export async function driveTask(parts: HostParts, assignment: Assignment): Promise<Driven> {
  const { home, session, news } = parts;
  const { request, spec, stop } = assignment;
  const spool = new Spool(sessionDirOf(home, session.id), request, () => session.secrets);
  const progress = new SpooledProgress(spool, home.io.clock, news);
  const hosts = parts.hosts(spool);
  try {
    return await runStages({
      home,
      session,
      request,
      spec,
      stop,
      around: {
        onProgress: progress.onProgress,
        onReady: () => progress.end(),
        onSetup: (chunk) => {
          progress.end();
          spool.add("setup", chunk);
          news();
        },
        join: (task) => join(parts, assignment, task, { spool, hosts }),
      },
    });
  } finally {
    // What is kept last may have told of itself: nothing is written to a file that is closed.
    progress.end();
    spool.remove();
  }
}

async function join(
  { home, session, feed, shells, door, terminal, news }: HostParts,
  { request, spec, stop }: Assignment,
  task: Task,
  { spool, hosts }: { readonly spool: Spool; readonly hosts: TaskHosts },
): Promise<Joined> {
  const values = await valuesFor(task.room, { request, base: task.base, ...present({ env: spec.env }) });
  spool.begin(await outputRoom(task.room, task));
  // One that we hold on to: `AbortSignal.any` may be collected while it is waited for.
  const ended = new AbortController();
  const onStop = () => ended.abort(stop.reason);
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  const quota = await task.quota();
  const screen = spec.agent.input === "terminal" ? await terminal() : undefined;
  const doorView = { dir: await door() };
  giveTo(task.sandbox?.user, doorView.dir);
  // A port that could not be opened inside is refused there: the task goes on without it.
  hosts.connect((host) => void task.network.allow(host).catch(() => {}));
  const cgroup = task.sandbox?.cgroup;
  const refused = cgroup && refusalsFromNow(cgroup.name);
  let parked: Parked | undefined;
  // Loaded for an agent that asks for it: a command doesn't.
  let route: Promise<ModelRoute> | undefined;
  const openRoute = async () => new (await import("./model-route.ts")).ModelRoute(home, task, routeOptions);
  const say = (label: string, text: string) => {
    spool.add("stderr", Buffer.from(`${`[${label}]`.padEnd(10)}${text}\n`));
    news();
  };
  const tellBlocked = (ports: readonly number[]) => {
    for (const port of ports)
      say("port", `${port} is taken by another program of this machine: from outside, that one answers`);
  };
  const routeOptions: RouteOptions = {
    park: (why) => {
      parked ??= why;
      ended.abort();
    },
    onHeld: ({ detail = "" }) => say("waits", detail),
    onFault: (what) => say("model", what),
  };
  let watch: Watch | undefined;
  let exceeding: Promise<unknown> | undefined;
  return {
    surroundings: {
      signal: ended.signal,
      door: doorView,
      values,
      models: {
        model: async (provider) => {
          route ??= openRoute();
          return (await route).model(provider);
        },
      },
      messages: feed,
      // An address, and what leads to this machine, can't be allowed: the proxy's answer says so.
      onRefused: ({ host, port, reason }) => {
        if (reason === "unnamed" || reason === "private") hosts.refused(patternFor(host, port));
      },
      onStart: (pid: number, input: Writable | null) => {
        const watched = { pid, dirs: [task.room.sessionDir], quota, refused };
        watch = new Watch(home.io.clock, watched, (exceeded) => {
          // First it is stopped: the record of it may need the space that it takes.
          ended.abort();
          exceeding = session.append("quota_reached", exceeded);
          exceeding.catch(() => {});
        });
        void task.network.blockedPorts().then(tellBlocked, () => {});
        screen?.connect(pid, input);
        shells.begin((command, options) => task.runBeside(command, { ...options, door: doorView }));
        news();
      },
      onEnd: () => shells.end(),
      onOutput: (chunk, stream) => {
        spool.add(stream, chunk);
        screen?.show(chunk);
        news();
      },
    },
    async part() {
      stop.removeEventListener("abort", onStop);
      await shells.end();
      await (await route)?.close();
      const peakBytes = watch?.end() ?? 0;
      await screen?.close();
      // A guess for the next time: without it, another one is made.
      if (peakBytes > 0) await addPeak(home, spec.definition, peakBytes).catch(() => {});
      await feed.close();
      await exceeding;
      // However it ended: nothing else has all that it wrote.
      spool.end();
      await keepSpooled(home, session, spool.request, spool.left);
      return { isOverQuota: exceeding !== undefined, ...present({ parked }) };
    },
  };
}
