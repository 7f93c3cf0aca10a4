/**
 * Agents, session processes and the broker are killed at random moments, again and again, while agents work. 15 times
 * here; HOLDFAST_LONG=1 (npm run test:crash) makes it 100.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { orphansIn, type Step } from "../../src/testing/index.ts";
import { signalIfThere } from "../../src/util/index.ts";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, until } from "../support/hosts.ts";

const KILLS = process.env["HOLDFAST_LONG"] ? 102 : 15;
const SESSIONS = 3;
const KILLS_EACH = KILLS / SESSIONS;
/** Between two kills, at most; a few more are made while it goes on. */
const STEPS_BETWEEN = 3;
const STEPS = KILLS_EACH * (STEPS_BETWEEN + 2) + 2;
const wall = hasSandbox ? [] : ["--no-sandbox"];

/** Each has its own figures, so that what was counted can be told apart. */
const costOf = (step: number) => 1000 + step;
const script: Step[] = Array.from({ length: STEPS }, (_, step) => ({
  ...(step < STEPS - 1 ? { call: { bash: { command: `echo ${step} >> effects` } } } : { say: "All done." }),
  usage: { inputTokens: costOf(step) },
})) as Step[];

const TARGETS = ["agent", "session process", "broker"] as const;
type Target = (typeof TARGETS)[number];
type Kills = Record<Target, number>;

/** One session that is killed and let go on, until its agent is done. */
class Shot {
  readonly name: string;
  readonly #home: AgentHome;
  readonly #dispatcher: Dispatcher;

  constructor(home: AgentHome, dispatcher: Dispatcher, name: string) {
    this.#home = home;
    this.#dispatcher = dispatcher;
    this.name = name;
  }

  get id(): string {
    return this.#home.idOf(this.name);
  }

  /** What its model was asked, with the number of the step. */
  get given(): number[] {
    return this.#home.model.requests.flatMap(({ body, step }) =>
      step && body.includes(`for ${this.name}.`) ? [step.number] : [],
    );
  }

  /** How often each was killed. */
  async run(): Promise<Kills> {
    const kills: Kills = { agent: 0, "session process": 0, broker: 0 };
    await this.#home.run(this.name, `[[work]] for ${this.name}.`, "--detach", ...wall);
    // From then on it has a conversation.
    await until(() => this.given.length > 1);
    for (let kill = 0; kill < KILLS_EACH; kill += 1) {
      const enough = this.given.length + Math.floor(Math.random() * (STEPS_BETWEEN + 1));
      await until(async () => this.given.length >= enough || (await this.#goOn()) === "done");
      await sleep(Math.random() * 60);
      const target = TARGETS[kill % TARGETS.length] ?? "agent";
      // One that has just been started is not there at once.
      const pids = await until(
        async () => ((await this.#goOn()) === "done" ? [0] : await this.#pidsOf(target)),
        (found) => found.length > 0,
      );
      for (const pid of pids.filter(Boolean)) signalIfThere(pid, "SIGKILL");
      kills[target] += pids.filter(Boolean).length;
    }
    await until(
      () => this.#goOn(),
      (standing) => standing === "done",
    );
    return kills;
  }

  async #pidsOf(target: Target): Promise<number[]> {
    if (target === "broker") return this.#home.pidsOf("broker");
    if (target === "session process") return [this.#home.hostPid(this.id) ?? []].flat();
    const { conversation } = await this.#dispatcher.show(this.id);
    return conversation ? this.#home.pidsOf("agent", conversation.id) : [];
  }

  /** What a person does who sees it: resumes what was cut off, and asks an agent that failed to go on. */
  async #goOn(): Promise<string> {
    const { standing } = await this.#dispatcher.show(this.id);
    if (standing === "interrupted") await this.#home.holdfast("resume", this.name);
    if (standing === "failed")
      await this.#home.holdfast("run", "--session", this.name, "--continue", "--detach", ...wall, "go on");
    return standing;
  }
}

const countOf = (all: readonly unknown[], one: unknown) => all.filter((other) => other === one).length;

describe("SIGKILL of agents, session processes and the broker", () => {
  it(`${KILLS} kills: no effect twice, no call without its result, each answer counted once`, {
    timeout: 1_800_000,
  }, async () => {
    await using home = await AgentHome.start({ work: script });
    // A key that a broker has again after it was killed.
    writeFileSync(home.join("key"), PLANTED_KEY, { mode: 0o600 });
    home.settings(`keys: { anthropic: { file: ${home.join("key")} } }\n`);
    const dispatcher = await home.dispatcher();
    const shots = Array.from({ length: SESSIONS }, (_, at) => new Shot(home, dispatcher, `shot-${at}`));
    const kills = await Promise.all(shots.map((shot) => shot.run()));
    // Kills that hit nothing would prove nothing.
    for (const target of TARGETS)
      expect(
        kills.reduce((sum, one) => sum + one[target], 0),
        target,
      ).toBeGreaterThanOrEqual(2);

    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
    for (const { name, id, given } of shots) {
      const effects = execFileSync("git", ["-C", home.main, "show", `holdfast/${name}:effects`], {
        encoding: "utf8",
      });
      const lines = effects.trim().split("\n");
      expect(new Set(lines).size, effects).toBe(lines.length);
      // A call that was cut off may have had none.
      expect(lines.length).toBeGreaterThanOrEqual(STEPS - 1 - KILLS_EACH);

      const metered = (await home.records(name)).filter(({ type }) => type === "usage_metered");
      expect(new Set(metered.map(({ data }) => data["request"])).size).toBe(metered.length);
      const costs = metered.map(({ data }) => data["inputTokens"]);
      // An answer that its agent has is on record; one that was cut off on its way may be, and once.
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
