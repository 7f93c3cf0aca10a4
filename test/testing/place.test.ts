/**
 * A conversation's place in its script follows from the conversation alone: a resumed, forked, cut or repeated
 * one gets its own next step, whatever other conversations asked for meanwhile.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Intent,
  orphansIn,
  type ScriptedModel,
  type Scripts,
  type Step,
  startScriptedModel,
} from "../../src/testing/index.ts";
import { ask, type Client, clients, type Entry, type Said } from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

const { tools } = offers.claude;

/** One conversation with one client, as an agent leads it. */
class Conversation {
  readonly #model: ScriptedModel;
  readonly #client: Client;
  readonly #isStreamed: boolean;
  readonly entries: Entry[];

  constructor(model: ScriptedModel, client: Client, isStreamed: boolean, entries: readonly Entry[] = []) {
    this.#model = model;
    this.#client = client;
    this.#isStreamed = isStreamed;
    this.entries = [...entries];
  }

  /** The conversation as it was when it had `length` entries. */
  cut(length: number): Conversation {
    return new Conversation(this.#model, this.#client, this.#isStreamed, this.entries.slice(0, length));
  }

  /** Adds what must come before the model can be asked, asks it, and adds what it said. */
  async step(more: readonly Entry[] = []): Promise<Said> {
    const last = this.entries.at(-1);
    if (last && "said" in last && more.length === 0)
      this.entries.push(last.said.calls.length > 0 ? { results: last.said.calls } : { user: "go on" });
    this.entries.push(...more);
    const said = await ask(this.#model.url, this.#client, {
      entries: this.entries,
      tools,
      isStreamed: this.#isStreamed,
    });
    const request = this.#model.requests.at(-1);
    expect(request && orphansIn(request)).toEqual([]);
    this.entries.push({ said });
    return said;
  }
}

/** What a step looks like when the model gives it. It has the step's number, so that no two are the same. */
const shown = ({ text, calls }: Pick<Said, "text" | "calls">) =>
  [text, ...calls.map(({ args }) => JSON.stringify(args))].join(" ");

const stepOf = (number: number, kind: string): Step => {
  const first: Intent = { bash: { command: `first of ${number}` } };
  const second: Intent = { tool: { name: "Read", args: { file_path: `second of ${number}` } } };
  if (kind === "say") return { say: `text ${number};` };
  if (kind === "call") return { call: first };
  if (kind === "both") return { say: `text ${number};`, call: first };
  if (kind === "missing") return { say: `text ${number};`, call: { tool: { name: "nothing" } } };
  return { call: [first, second] };
};

const script = fc
  .array(fc.constantFrom("say", "call", "both", "several", "missing"), { minLength: 1, maxLength: 6 })
  .map((kinds) => kinds.map((kind, number) => stepOf(number, kind)));

const expectedOf = (steps: readonly Step[]): string[] =>
  steps.map((step, number) => {
    if (!step.call) return step.say ?? "";
    const missing = !Array.isArray(step.call) && "tool" in step.call;
    if (missing) return `${step.say}\nNO-TOOL tool`;
    const parts = [step.say ?? "", JSON.stringify({ command: `first of ${number}` })];
    if (Array.isArray(step.call)) parts.push(JSON.stringify({ file_path: `second of ${number}` }));
    return parts.join(" ");
  });

describe("a conversation that follows a script", () => {
  const scripts: Record<string, readonly Step[]> = {};
  let model: ScriptedModel;
  beforeAll(async () => {
    model = await startScriptedModel({ scripts: scripts as Scripts });
  });
  afterAll(() => model[Symbol.asyncDispose]());

  it("gets each step once, and after a cut anywhere gets the steps after that cut", async () => {
    let named = 0;
    await fc.assert(
      fc.asyncProperty(
        script,
        fc.constantFrom(...clients),
        fc.boolean(),
        fc.nat(),
        async (steps, client, isStreamed, where) => {
          named += 1;
          const name = `script ${named}`;
          scripts[name] = steps;
          const expected = expectedOf(steps);
          const whole = new Conversation(model, client, isStreamed, [{ user: "a word before" }]);
          const given = [shown(await whole.step([{ user: `[[${name}]]` }]))];
          while (given.length < steps.length) given.push(shown(await whole.step()));
          expect(given).toEqual(expected);

          const length = 2 + (where % (whole.entries.length - 1));
          const cut = whole.cut(length);
          const before = cut.entries.filter((entry) => "said" in entry).length;
          const behind: string[] = [];
          while (before + behind.length < steps.length) behind.push(shown(await cut.step()));
          expect(behind).toEqual(expected.slice(before));
          expect((await cut.step()).text).toBe("ANSWER-1");
        },
      ),
      { numRuns: 60 },
    );
  });

  it("starts over if it chooses the script again, and its calls get new ids", async () => {
    scripts["again"] = [{ call: { bash: { command: "once" } } }, { say: "that was it" }];
    for (const client of clients) {
      const conversation = new Conversation(model, client, true);
      const first = await conversation.step([{ user: "[[again]]" }]);
      expect((await conversation.step()).text).toBe("that was it");
      const second = await conversation.step([{ user: "once more: [[again]]" }]);
      expect(shown(second)).toBe(shown(first));
      expect(second.calls[0]?.id).not.toBe(first.calls[0]?.id);
      expect((await conversation.step()).text).toBe("that was it");
    }
  });

  it("finds its step by the id of a call if the agent has dropped the calls before it", async () => {
    scripts["dropped"] = ["one", "two", "three"].map((command) => ({ call: { bash: { command } } }));
    for (const client of clients.filter(({ name }) => name !== "gemini without ids")) {
      const whole = new Conversation(model, client, true);
      await whole.step([{ user: "[[dropped]]" }]);
      const second = await whole.step();
      const dropped = new Conversation(model, client, true, [{ user: "[[dropped]]" }, { said: second }]);
      expect(shown(await dropped.step()).trim()).toBe('{"command":"three"}');
    }
  });

  it("follows the last marker that names a script, and ignores other text in brackets", async () => {
    scripts["one"] = [{ say: "of one" }];
    scripts["two"] = [{ say: "of two" }];
    const [client] = clients as [Client];
    const answer = async (...texts: string[]) =>
      (await new Conversation(model, client, false).step(texts.map((user) => ({ user })))).text;
    expect(await answer("[[one]] [[two]]", "and then?")).toBe("of two");
    expect(await answer("[[one]]", "not [[three]], nor [[ -f two ]]")).toBe("of one");
    expect(await answer("[[three]]")).toBe("ANSWER-1");
  });

  it("gets the whole text again after it was cut off, and then the next steps", async () => {
    scripts["cut"] = [
      { say: "a long text that is said" },
      { call: { bash: { command: "ls" } } },
      { say: "end" },
    ];
    for (const client of clients) {
      const conversation = new Conversation(model, client, false, [
        { user: "[[cut]]" },
        { said: { text: "a long text th", calls: [] } },
      ]);
      expect((await conversation.step([{ user: "[interrupted] go on" }])).text).toBe(
        "a long text that is said",
      );
      await conversation.step();
      expect((await conversation.step()).text).toBe("end");
    }
  });
});
