/**
 * Owns what a task needs while a session process runs it: the file of its output, its terminal, its messages,
 * the shells beside it, and the watch over what it uses. All of it exists before the task's first process,
 * and is gone after the last.
 */
import type { Writable } from "node:stream";
import type { OutputStream } from "../agent/index.ts";
import { giveTo } from "../capsule/index.ts";
import type { Parked, TaskSpec } from "../contract/index.ts";
import { type Home, readSettings, sessionDirOf } from "../home/index.ts";
import { addPeak } from "../line/index.ts";
import { patternFor } from "../network/index.ts";
import { refusalsFromNow, useClaudeDir } from "../process/index.ts";
import { readEnvironment, type Session } from "../session/index.ts";
import {
  DOOR_INSIDE,
  type Driven,
  type Joined,
  type MessageDelivery,
  outputRoom,
  runStages,
  type Task,
  valuesFor,
} from "../task/index.ts";
import { present } from "../util/index.ts";
import { keepSpooled } from "./kept-output.ts";
import type { ModelRoute, RouteOptions } from "./model-route.ts";
import type { Shells } from "./shells.ts";
import { Spool } from "./spool.ts";
import { SpooledProgress } from "./spooled-progress.ts";
import type { TaskHosts } from "./task-hosts.ts";
import { TaskWatch } from "./task-watch.ts";
import type { TerminalSocket } from "./terminal-socket.ts";
import { TaskGate } from "./tool-gate.ts";

const SECOND_MS = 1000;

/** What a session process provides for its tasks. */
export interface HostParts {
  readonly home: Home;
  readonly session: Session;
  readonly feed: MessageDelivery;
  readonly shells: Shells;
  /** Sends a message to another session, or to a person. */
  send(to: string, text: string): Promise<string>;
  /** The directory of the door, which is open from then on. */
  door(): Promise<string>;
  /** The tools behind the door while a task runs. */
  offer(gate: TaskGate | undefined): void;
  terminal(): Promise<TerminalSocket>;
  /** What is reported of hosts while the task runs that writes to this spool. */
  hosts(spool: Spool): TaskHosts;
  /** There is something new to see. */
  news(): void;
}

/** A task that is to run until it ends or is stopped. */
export interface Assignment {
  readonly request: string;
  readonly spec: TaskSpec;
  readonly stop: AbortSignal;
}

/** Runs a task of the queue, or the one that was cut off. */
export async function driveTask(parts: HostParts, assignment: Assignment): Promise<Driven> {
  for (;;) {
    const driven = await driveOnce(parts, assignment);
    if (!driven.goesOn) return driven;
  }
}

async function driveOnce(parts: HostParts, assignment: Assignment): Promise<Driven> {
  const { home, session, news } = parts;
  const { request, spec, stop } = assignment;
  const spool = new Spool(sessionDirOf(home, session.id), request, () => session.secrets);
  const progress = new SpooledProgress(spool, home.io.clock, news);
  const hosts = parts.hosts(spool);
  const { claudeDir } = readEnvironment(sessionDirOf(home, session.id), request) ?? {};
  if (claudeDir !== undefined) useClaudeDir(claudeDir);
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
    // The last work may have reported progress: nothing may be written to a closed file.
    progress.end();
    spool.remove();
  }
}

async function join(
  { home, session, feed, shells, door, terminal, news, offer, send }: HostParts,
  { request, spec, stop }: Assignment,
  task: Task,
  { spool, hosts }: { readonly spool: Spool; readonly hosts: TaskHosts },
): Promise<Joined> {
  const values = await valuesFor(task.room, { request, base: task.base, ...present({ env: spec.env }) });
  spool.begin(await outputRoom(task.room, task));
  // We keep a reference to it, because a signal from `AbortSignal.any` may be collected while it is waited
  // for.
  const ended = new AbortController();
  const onStop = () => ended.abort(stop.reason);
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  const quota = await task.quota();
  const { ask_seconds } = await readSettings(home.dir);
  const screen = spec.agent.input === "terminal" ? await terminal() : undefined;
  const doorView = { dir: await door() };
  giveTo(task.sandbox?.user, doorView.dir);
  const cgroup = task.sandbox?.cgroup;
  const refused = cgroup && refusalsFromNow(cgroup.name);
  let parked: Parked | undefined;
  // Loaded only for an agent that asks for it: a command does not.
  let route: Promise<ModelRoute> | undefined;
  const openRoute = async () => new (await import("./model-route.ts")).ModelRoute(home, task, routeOptions);
  const say = (label: string, text: string) => {
    spool.add("stderr", Buffer.from(`${`[${label}]`.padEnd(10)}${text}\n`));
    news();
  };
  hosts.connect((host) => {
    // Connections to a port that could not be opened are refused inside, and the task goes on without it.
    task.network
      .allow(host)
      .catch(({ message }: Error) => say("network", `${host} can't be reached: ${message}`));
  });
  const tellBlocked = (ports: readonly number[]) => {
    for (const port of ports)
      say(
        "port",
        `${port} is taken by another program of this machine, which answers connections from outside`,
      );
  };
  const routeOptions: RouteOptions = {
    park: (why) => {
      parked ??= why;
      ended.abort("park");
    },
    onHeld: ({ detail = "" }) => say("waits", detail),
    onFault: (what) => say("model", what),
  };
  const watch = new TaskWatch({
    ...{ clock: home.io.clock, session, dirs: [task.room.sessionDir], quota, refused },
    stop: () => ended.abort(),
  });
  const onOutput = (chunk: Buffer, stream: OutputStream) => {
    spool.add(stream, chunk);
    screen?.show(chunk);
    news();
  };
  const around = { signal: ended.signal, door: doorView, values, onOutput };
  const gate = new TaskGate({
    ...{ home, session, task, stop: ended.signal, holdMs: ask_seconds * SECOND_MS, cwd: spec.cwd, send },
    doorInside: task.sandbox ? DOOR_INSIDE : doorView.dir,
    work: task.workplace({
      ...{ ...around, cwd: spec.cwd, messages: feed },
      onStart: (pid) => watch.begin(pid),
      onEnd: async () => watch.ended(),
    }),
    waits: (text) => say("waits", text),
    tell: (text) => say("tools", text),
  });
  offer(gate);
  await gate.settle();
  return {
    surroundings: {
      ...around,
      gate,
      models: {
        model: async (provider) => {
          route ??= openRoute();
          return (await route).model(provider);
        },
      },
      messages: feed,
      // An address, or a name that leads to this machine, can't be allowed: the proxy's answer says so.
      onRefused: ({ host, port, reason }) => {
        if (reason === "unnamed" || reason === "private") hosts.refused(patternFor(host, port));
      },
      onStart: (pid: number, input: Writable | null) => {
        watch.begin(pid);
        void task.network.blockedPorts().then(tellBlocked, () => {});
        screen?.connect(pid, input);
        shells.begin((command, options) => task.runBeside(command, { ...options, door: doorView }));
        news();
      },
      onEnd: () => shells.end(),
    },
    async part() {
      stop.removeEventListener("abort", onStop);
      offer(undefined);
      await gate.close();
      await shells.end();
      const models = await route;
      await models?.close();
      const { peakBytes, isOverQuota } = await watch.end();
      await screen?.close();
      // A guess for the next run of this agent: without it, another guess is made.
      if (peakBytes > 0) await addPeak(home, spec.definition, peakBytes).catch(() => {});
      await feed.close();
      // However the task ended: nothing else has all of its output.
      spool.end();
      await keepSpooled(home, session, spool.request, spool.left);
      // An agent whose client gave up while its request was held may have ended for that.
      return { isOverQuota, ...present({ parked: parked ?? (isOverQuota ? undefined : models?.held) }) };
    },
  };
}
