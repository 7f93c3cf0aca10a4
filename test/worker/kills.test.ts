/**
 * Kills the session process or the worker at each step of an action: the state reported afterwards is what
 * happened, the action never happens twice, and one that had not begun can be done with the same grant.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { wasSpent } from "../../src/approval/index.ts";
import type { Grant } from "../../src/contract/index.ts";
import { actionsDir } from "../../src/util/index.ts";
import { outcomeOf } from "../../src/worker/index.ts";
import { ActingHome, besideHome } from "../support/acting.ts";
import { TestChild } from "../support/children.ts";
import { HeldServer } from "../support/held-server.ts";

/** Polls until it is so, because nothing reports it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2);
}

class Killing extends ActingHome {
  readonly server: HeldServer;
  readonly #args: { method: string; url: string; headers: Record<string, string> };
  #grant: Grant | undefined;

  private constructor(server: HeldServer) {
    super();
    this.server = server;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how a variable is named there.
    this.#args = { method: "POST", url: server.url, headers: { "x-key": "${env.SLOW}" } };
  }

  /** A task with a granted request. The request's variable has no value until the file `told` exists. */
  static async make(): Promise<Killing> {
    const server = await HeldServer.start();
    const home = new Killing(server);
    await home.begin(`tools: { http_request: { env: [SLOW], hosts: ["localhost:${server.port}"] } }\n`);
    const command = `touch ${home.asked}; while [ ! -e ${home.told} ]; do sleep 0.05; done; echo value-of-slow`;
    const settings = `variables: { SLOW: { command: [sh, -c, ${JSON.stringify(command)}] } }\n`;
    writeFileSync(join(home.dir, "settings.yaml"), settings, { mode: 0o600 });
    const { action } = await home.prepare("http_request", home.#args);
    home.#grant = await home.grant(action);
    return home;
  }

  get asked(): string {
    return besideHome(this, "asked");
  }

  get told(): string {
    return besideHome(this, "told");
  }

  get approval(): string {
    return this.#grant?.approval ?? "";
  }

  get state(): string {
    return outcomeOf(this.task.room.sessionDir, 1, this.approval).kind;
  }

  /** The pid of the action's worker. */
  get worker(): number {
    const dir = actionsDir(this.task.room.sessionDir, 1);
    const name = existsSync(dir) ? readdirSync(dir).find((one) => one.endsWith(".worker")) : undefined;
    return Number(name?.split(".")[1] ?? 0);
  }

  /** Starts the session process, which does the action. */
  async process(): Promise<TestChild> {
    await this.task.rest();
    await this.session.release();
    const file = besideHome(this, "order.json");
    writeFileSync(file, JSON.stringify({ name: "http_request", args: this.#args, grant: this.#grant }));
    return new TestChild("act-once.ts", [this.dir, this.session.id, file]);
  }

  async again(): Promise<string> {
    await using child = await this.process();
    await child.ended();
    expect(child.stderr).toBe("");
    return (JSON.parse(child.lines.at(-1) ?? "{}") as { outcome: string }).outcome;
  }

  async end(): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this[Symbol.asyncDispose]();
  }
}

describe("an action whose processes are killed", () => {
  it("worker-3 has not begun if they are killed before its grant is spent, and the grant is still valid", async () => {
    const home = await Killing.make();
    try {
      expect(home.state).toBe("not_begun");
      {
        await using child = await home.process();
        await until(() => existsSync(home.asked));
        child.kill("SIGKILL");
        await child.ended();
      }
      expect(home.state).toBe("running");
      process.kill(home.worker, "SIGKILL");
      await until(() => home.state !== "running");
      expect(home.state).toBe("not_begun");
      expect(wasSpent(home.dir, home.approval)).toBe(false);
      writeFileSync(home.told, "");
      home.server.letGo();
      expect(await home.again()).toBe("ok");
      expect(home.server.heard).toHaveLength(1);
      expect(home.state).toBe("ended");
    } finally {
      await home.end();
    }
  });

  it("worker-2 is finished by its worker if only the session process is killed, and its outcome is found", async () => {
    const home = await Killing.make();
    try {
      writeFileSync(home.told, "");
      {
        await using child = await home.process();
        await until(() => home.server.heard.length > 0);
        child.kill("SIGKILL");
        await child.ended();
      }
      expect(home.state).toBe("running");
      home.server.letGo();
      await until(() => home.state !== "running");
      expect(outcomeOf(home.task.room.sessionDir, 1, home.approval)).toMatchObject({
        kind: "ended",
        outcome: { outcome: "ok", facts: { status: 200 } },
      });
      expect(await home.again()).toBe("refused");
      expect(home.server.heard).toHaveLength(1);
    } finally {
      await home.end();
    }
  });

  it("worker-2 is unknown, and not done again, if its worker is killed after the grant was spent", async () => {
    // Right after the grant was spent, and once the server has received the request.
    for (const isSo of [
      (home: Killing) => wasSpent(home.dir, home.approval),
      (home: Killing) => home.server.heard.length > 0,
    ]) {
      const home = await Killing.make();
      try {
        writeFileSync(home.told, "");
        {
          await using child = await home.process();
          await until(() => isSo(home));
          const { worker } = home;
          process.kill(worker, "SIGKILL");
          await child.ended();
          expect(child.lines.at(-1)).toContain("not known");
        }
        expect(home.state).toBe("unknown");
        home.server.letGo();
        expect(await home.again()).toBe("refused");
        expect(home.server.heard.length).toBeLessThanOrEqual(1);
        expect(home.state).toBe("unknown");
      } finally {
        await home.end();
      }
    }
  });

  it("worker-2 keeps its outcome, and is not done again, if the kill comes after the outcome is on disk", async () => {
    const home = await Killing.make();
    try {
      writeFileSync(home.told, "");
      home.server.letGo();
      {
        await using child = await home.process();
        await until(() => home.state === "ended");
        child.kill("SIGKILL");
        await child.ended();
      }
      expect(home.state).toBe("ended");
      expect(await home.again()).toBe("refused");
      expect(home.server.heard).toHaveLength(1);
    } finally {
      await home.end();
    }
  });
});
