/**
 * The built-in tools over a real task, for tests: each call as the gate would make it.
 */
import type { JsonObject } from "../../src/contract/index.ts";
import { builtinTools } from "../../src/gateway/builtin/index.ts";
import type { Question } from "../../src/gateway/builtin/place.ts";
import { type Around, TaskPlace } from "../../src/gateway/builtin/task-place.ts";
import type { PlainTool, ToolOutcome } from "../../src/lane/index.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import type { Session } from "../../src/session/session.ts";
import type { Task } from "../../src/task/task.ts";
import { sandbox, TaskHome } from "./tasks.ts";

export interface ToolsAsked {
  readonly lane?: string;
  readonly cwd?: string;
  readonly answer?: string;
}

export class ToolHome extends TaskHome {
  #session: Session | undefined;
  #task: Task | undefined;
  #place: TaskPlace | undefined;
  #tools: readonly PlainTool[] = [];
  readonly sent: (readonly [to: string, text: string])[] = [];
  readonly asked: Question[] = [];

  get task(): Task {
    if (!this.#task) throw new Error("no task was begun");
    return this.#task;
  }

  get session(): Session {
    if (!this.#session) throw new Error("no session was opened");
    return this.#session;
  }

  get tools(): readonly PlainTool[] {
    return this.#tools;
  }

  async begin({ lane, cwd, answer }: ToolsAsked = {}): Promise<LocalHome> {
    const hf = await this.open();
    this.#session = await hf.openSession({ repo: this.main, title: "tools" });
    this.#task = await hf.startTask(this.#session, { ...sandbox, ...(lane && { lane }) });
    const around: Around = {
      work: this.#task.workplace({ cwd }),
      cwd,
      send: async (to, text) => `msg_${this.sent.push([to, text])}`,
      ask: async (question) => {
        return { question: `q_${this.asked.push(question)}`, answer };
      },
    };
    this.#place = new TaskPlace(this.#task, around);
    this.#tools = builtinTools(this.#place);
    return hf;
  }

  call(name: string, args: JsonObject = {}, signal = new AbortController().signal): Promise<ToolOutcome> {
    const tool = this.#tools.find((one) => one.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    return tool.run(args, { signal, progress: () => {} });
  }

  /** The top directory of the capsule, where this process sees it. */
  async root(): Promise<string> {
    return (await this.task.capsule.attach()).root;
  }

  /** Ends the tools, as at the end of the agent's work. */
  async endTools(): Promise<void> {
    await this.#place?.end();
  }

  async rest(): Promise<void> {
    await this.endTools();
    await this.task.rest();
    await this.session.pause();
  }
}
