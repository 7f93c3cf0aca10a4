/**
 * The commands of docs/agents.md, with the real agents that are installed, against a scripted model: each
 * goes on with its conversation after a kill and after a pause, and in a fork.
 */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../src/testing/index.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { HostHome, until } from "../support/hosts.ts";
import { hasScript, Window } from "../support/terminal.ts";
import { type Agent, agentPath, agents, isInstalled } from "./agents.ts";

for (const agent of agents)
  if (!isInstalled(agent))
    console.log(`left out: the test of ${agent.name}: it is not installed (HOLDFAST_AGENTS)`);
if (!hasSandbox) console.log("left out: the tests of agents: without a sandbox HOME would be the user's own");

const ATTEMPTS = 4;
/** A new agent process looks at the repo and for updates first, which is slow on a busy machine. */
const HEARD_MS = 45_000;
/** An agent that looks for the network first is slow to start. */
const READY_MS = 90_000;

/** One agent in one home, as a person uses it. */
class ByHand {
  readonly #home: HostHome;
  readonly #agent: Agent;
  readonly #model: ScriptedModel;

  constructor(home: HostHome, agent: Agent, model: ScriptedModel) {
    this.#home = home;
    this.#agent = agent;
    this.#model = model;
  }

  async #cli(...args: string[]): Promise<string> {
    // The sandbox makes visible what is on the person's PATH.
    const { status, stdout, stderr } = await runCli(this.#home.dir, args, { PATH: agentPath });
    expect(status, stderr).toBe(0);
    return stdout.trim();
  }

  /** Opens a session whose HOME has the files that keep the agent from asking. */
  async open(): Promise<string> {
    const { main } = this.#home;
    const files = this.#agent.files(this.#model.url, main);
    const script = Object.entries(files).map(
      ([path, text]) => `mkdir -p ~/${path}; rmdir ~/${path}; cat > ~/${path} <<'END'\n${text}\nEND\n`,
    );
    const id = this.#home.idOf(
      await this.#cli("run", "--detach", "--repo", main, "--", "sh", "-c", script.join("")),
    );
    await until(
      async () => (await this.#home.cli("show", id)).stdout,
      (text) => /^status +done/m.test(text),
    );
    return id;
  }

  async start(id: string, before = ""): Promise<void> {
    const env = this.#agent.env(this.#model.url);
    const exports = Object.entries(env).map(([name, value]) => `export ${name}='${value}'; `);
    const command = `${exports.join("")}${before}${this.#agent.command}`;
    const host = `localhost:${new URL(this.#model.url).port}`;
    const asked = ["-i", "--restart", "--detach", "--session", id, "--host", host];
    await this.#cli("run", ...asked, "--", "sh", "-c", command);
  }

  /** Types the text when the agent is ready, and again if it was missed. Returns what the model was asked. */
  async say(id: string, text: string): Promise<string> {
    const dispatcher = await this.#home.dispatcher();
    const path = await until(() => dispatcher.processOf(id)?.terminal ?? "");
    using window = new Window(path);
    window.has(120, 40);
    await until(
      () => window.shown,
      (shown) => shown.includes(this.#agent.ready),
      READY_MS,
    );
    const asked = () =>
      this.#model.requests.find(
        ({ isTurn, body }) => isTurn && body.includes(text) && body.includes("heron"),
      );
    for (let attempt = 1; !asked() && attempt <= ATTEMPTS; attempt += 1) {
      await this.#cli("send", "--type", id, text);
      await until(asked, Boolean, HEARD_MS).catch(() => {});
    }
    const request = asked();
    expect(request, window.shown.slice(-2000)).toBeDefined();
    const body = request?.body ?? "";
    const answer = `ANSWER-${lastAnswer(body) + 1}`;
    // The screen can't tell: what it shows may not be stored yet, and characters that are already there are
    // not sent again.
    await until(() => isIn(this.#home.sessionDir(id, "home"), answer));
    return body;
  }

  async kill(id: string): Promise<void> {
    kill(this.#home.hostPid(id) ?? 0, "SIGKILL");
    await until(
      async () => (await this.#home.cli("show", id)).stdout,
      (text) => /^status +interrupted/m.test(text),
    );
  }

  pause = (id: string) => this.#cli("pause", id);
  resume = (id: string) => this.#cli("resume", id);
  fork = async (id: string) => this.#home.idOf(await this.#cli("fork", id));
}

/** The number of the last answer in a request; 0 if it has none. */
function lastAnswer(body: string): number {
  return Math.max(0, ...[...body.matchAll(/ANSWER-(\d+)/g)].map(([, number]) => Number(number)));
}

/** Empty if a directory was removed meanwhile: agents make and remove locks. */
function filesIn(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  } catch {
    return [];
  }
}

function isIn(dir: string, text: string): boolean {
  return filesIn(dir).some(({ parentPath, name }) => {
    try {
      return readFileSync(join(parentPath, name)).includes(text);
    } catch {
      // It is gone meanwhile.
      return false;
    }
  });
}

describe.skipIf(!hasSandbox || !hasScript)("an agent that a person starts in a terminal", () => {
  for (const agent of agents)
    it.skipIf(!isInstalled(agent))(
      `${agent.name}: the conversation survives a kill and a pause, and goes on in a fork`,
      async () => {
        using home = new HostHome();
        await using model = await startScriptedModel();
        const hand = new ByHand(home, agent, model);
        const id = await hand.open();
        await hand.start(id);
        await hand.say(id, "the word is heron");
        await hand.kill(id);
        await hand.resume(id);
        const second = await hand.say(id, "which word was it?");
        expect(second).toMatch(/heron.*ANSWER-1.*which word was it/s);
        await hand.pause(id);
        const fork = await hand.fork(id);
        await hand.resume(id);
        const third = await hand.say(id, "say it once more");
        expect(third).toMatch(/heron.*ANSWER-1.*which word was it.*ANSWER-2.*once more/s);
        await hand.start(fork, agent.inFork);
        const forked = await hand.say(fork, "and in the fork?");
        expect(forked).toMatch(/heron.*ANSWER-1.*which word was it.*in the fork/s);
        expect(forked).not.toContain("once more");
        for (const one of [id, fork]) await hand.pause(one);
        await home.quiet();
      },
      10 * 60_000,
    );
});
