/**
 * Agents, session processes and the broker are killed at random moments, again and again, while agents work. 15 times
 * here; HOLDFAST_LONG=1 (npm run test:crash) makes it 102.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { treeOf } from "../../src/process/tree.ts";
import { orphansIn, type Step } from "../../src/testing/index.ts";
import { isAlive, readTextOr, signalIfThere } from "../../src/util/index.ts";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, until } from "../support/hosts.ts";

const KILLS = process.env["HOLDFAST_LONG"] ? 102 : 15;
/** For each of the three agents. */
const KILLS_EACH = KILLS / 3;
/** At most so many between two kills; the agent makes a few more until the kill hits. */
const STEPS_BETWEEN = 3;
const STEPS = KILLS_EACH * (STEPS_BETWEEN + 2) + 2;
const wall = hasSandbox ? [] : ["--no-sandbox"];

/** Each step has its own cost, so that the answers that were counted can be told apart. */
const costOf = (step: number) => 1000 + step;
const script: Step[] = Array.from({ length: STEPS }, (_, step) => ({
  ...(step < STEPS - 1 ? { call: { bash: { command: `echo ${step} >> effects` } } } : { say: "All done." }),
  usage: { inputTokens: costOf(step) },
})) as Step[];

const TARGETS = ["agent", "session process", "broker"] as const;
type Target = (typeof TARGETS)[number];

interface Agent {
  /** The program by which its processes are found. */
  readonly program: string;
  readonly words: readonly string[];
}

/** The first two remember the calls that they made; the third writes them down too late. */
const AGENTS: readonly Agent[] = [
  { program: "claude.ts", words: ["--agent", "claude"] },
  { program: "acp.ts", words: ["--agent", "opencode"] },
  { program: "claude.ts", words: ["--agent", "claude", "--model", "forgetful"] },
];

/** One session whose processes are killed, and which is continued each time until its agent is done. */
class Shot {
  readonly name: string;
  /** What was killed, in order. */
  readonly hits: Target[] = [];
  readonly #home: AgentHome;
  readonly #dispatcher: Dispatcher;
  readonly #agent: Agent;

  constructor(home: AgentHome, dispatcher: Dispatcher, name: string, agent: Agent) {
    this.#home = home;
    this.#dispatcher = dispatcher;
    this.name = name;
    this.#agent = agent;
  }

  get id(): string {
    return this.#home.idOf(this.name);
  }

  /** The numbers of the steps that its model gave. */
  get given(): number[] {
    return this.#home.model.requests.flatMap(({ body, step }) =>
      step && body.includes(`for ${this.name}.`) ? [step.number] : [],
    );
  }

  /** Kills each of the targets in turn, until the agent is done. */
  async run(targets: readonly Target[]): Promise<void> {
    const words = `[[work]] for ${this.name}.`;
    await this.#home.run(this.name, words, ...this.#agent.words, "--detach", ...wall);
    // From then on it has a conversation.
    await until(() => this.given.length > 1);
    for (const target of targets) {
      const enough = this.given.length + Math.floor(Math.random() * (STEPS_BETWEEN + 1));
      await until(async () => this.given.length >= enough || (await this.#goOn()) === "done");
      await sleep(Math.random() * 60);
      // A process that has just been started may not be there yet.
      await until(async () => (await this.#goOn()) === "done" || this.#kill(target));
    }
    await until(
      () => this.#goOn(),
      (standing) => standing === "done",
    );
  }

  /** Returns whether there was a process to kill. */
  #kill(target: Target): boolean {
    const pids = this.#pidsOf(target).filter((pid) => isAlive({ pid, startTicks: null }));
    for (const pid of pids) signalIfThere(pid, "SIGKILL");
    if (pids.length > 0) this.hits.push(target);
    return pids.length > 0;
  }

  #pidsOf(target: Target): number[] {
    if (target === "broker") return this.#home.pidsOf("broker");
    const host = this.#home.hostPid(this.id);
    if (host === undefined || target === "session process") return [host ?? []].flat();
    const program = this.#home.join("bin", this.#agent.program);
    return treeOf(host).filter((pid) => readTextOr(`/proc/${pid}/cmdline`, "").split("\0").includes(program));
  }

  /** Does what a person would: resumes an interrupted session, and asks a failed agent to go on. */
  async #goOn(): Promise<string> {
    const { standing } = await this.#dispatcher.show(this.id);
    if (standing === "interrupted") await this.#home.holdfast("resume", this.name);
    if (standing === "failed")
      await this.#home.holdfast("run", "--session", this.name, ...this.#goingOn, "go on");
    return standing;
  }

  get #goingOn(): string[] {
    return [...this.#agent.words, "--continue", "--detach", ...wall];
  }
}

/** Runs sessions one after the other until all kills have hit, because an agent may be done before. */
async function shoot(
  home: AgentHome,
  dispatcher: Dispatcher,
  agent: Agent,
  line: number,
): Promise<readonly Shot[]> {
  const shots: Shot[] = [];
  let due = Array.from({ length: KILLS_EACH }, (_, kill) => TARGETS[kill % TARGETS.length] ?? "agent");
  while (due.length > 0) {
    const shot = new Shot(home, dispatcher, `shot-${line}-${shots.length}`, agent);
    shots.push(shot);
    await shot.run(due);
    due = due.slice(shot.hits.length);
  }
  return shots;
}

const countOf = (all: readonly unknown[], one: unknown) => all.filter((other) => other === one).length;

describe("SIGKILL of agents, session processes and the broker", () => {
  it(`${KILLS} kills repeat no effect, leave no call without its result and count no answer twice`, {
    timeout: 1_800_000,
  }, async () => {
    await using home = await AgentHome.start({ work: script });
    // A key in a file, so that the next broker has it again after a kill.
    writeFileSync(home.join("key"), PLANTED_KEY, { mode: 0o600 });
    home.settings(`keys: { anthropic: { file: ${home.join("key")} } }\n`);
    const dispatcher = await home.dispatcher();
    const shots = (
      await Promise.all(AGENTS.map((agent, line) => shoot(home, dispatcher, agent, line)))
    ).flat();
    // Kills that hit nothing would prove nothing.
    const hits = shots.flatMap((shot) => shot.hits);
    expect(hits).toHaveLength(KILLS);
    for (const target of TARGETS) expect(hits, target).toContain(target);

    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
    for (const { name, id, given } of shots) {
      const effects = execFileSync("git", ["-C", home.main, "show", `holdfast/${name}:effects`], {
        encoding: "utf8",
      });
      const lines = effects.trim().split("\n");
      expect(new Set(lines).size, effects).toBe(lines.length);
      // A call that was cut off may have had no effect.
      expect(lines.length).toBeGreaterThanOrEqual(STEPS - 1 - KILLS_EACH);

      const metered = (await home.records(name)).filter(({ type }) => type === "usage_metered");
      expect(new Set(metered.map(({ data }) => data["request"])).size).toBe(metered.length);
      const costs = metered.map(({ data }) => data["inputTokens"]);
      // An answer that its agent got is on record; one that was cut off on its way may be, but only once.
      for (const step of script.keys()) {
        const counted = countOf(costs, costOf(step));
        expect(counted, `step ${step}`).toBeGreaterThanOrEqual(1);
        expect(counted, `step ${step}`).toBeLessThanOrEqual(countOf(given, step));
      }
      const { spent } = await dispatcher.show(id);
      expect(spent.inputTokens).toBe(costs.reduce((sum: number, cost) => sum + Number(cost), 0));
      expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
    }
    expect(home.strays()).toEqual([]);
  });
});
