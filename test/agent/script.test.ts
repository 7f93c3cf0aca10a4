/**
 * The script agent, through a gate over the tools of a real task: its steps, its variables, what it expects,
 * and how it goes on after it was cut off, paused or held.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts have variables of their own
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentEnd } from "../../src/agent/adapter.ts";
import { adapterOf, assertHeld } from "../../src/agent/index.ts";
import { parseScript } from "../../src/agent/script/form.ts";
import type { JournalRecord, ScriptSpec } from "../../src/contract/index.ts";
import { Dispatcher } from "../../src/dispatch/index.ts";
import { readDurable } from "../../src/journal/index.ts";
import { TestGate } from "../support/test-gate.ts";
import { ToolHome } from "../support/tools.ts";

const specOf = (script: string, vars: Record<string, string> = {}): ScriptSpec => ({
  adapter: "script",
  script,
  vars,
  input: "messages",
});

describe("a script", () => {
  let home: ToolHome;
  let gate: TestGate;
  let shown: string;

  beforeEach(async () => {
    home = new ToolHome({ "a.txt": "one\n" });
    await home.begin();
    gate = new TestGate(home);
    shown = "";
  });

  afterEach(async () => {
    await home.rest();
    home[Symbol.dispose]();
  });

  interface Driving {
    readonly vars?: Record<string, string>;
    readonly isGoingOn?: boolean;
    readonly signal?: AbortSignal;
  }

  function drive(script: string, { vars = {}, ...around }: Driving = {}): Promise<AgentEnd> {
    const onOutput = (chunk: Buffer) => {
      shown += chunk;
    };
    const spec = specOf(script, vars);
    return adapterOf(spec).drive(home.task.workplace({ gate, onOutput, ...around }), spec);
  }

  async function records(type: string): Promise<JournalRecord["data"][]> {
    const found: JournalRecord["data"][] = [];
    for await (const { record } of readDurable(home.sessionDir(home.session.id)))
      if (record.type === type) found.push(record.data);
    return found;
  }

  const inRoot = async (name: string) => join(await home.root(), name);

  it("runs its steps in one turn, and a step can use the results of earlier ones", async () => {
    const script = `
vars: { who: nobody, greeting: hello }
steps:
  - say: For \${task}.
  - tool: run_command
    with: { command: 'echo "$\${HOME:+home}"; printf %s "\${greeting} \${who}"' }
    as: said
  - tool: write_file
    with: { path: "\${who}.txt", content: "\${said}|\${said.exit_code}|\${said.outcome}" }
  - tool: read_file
    with: { path: "\${who}.txt", max_lines: "\${said.lines_wanted}" }
    on_failure: continue
  - tool: read_file
    with: { path: a.txt }
    expect: { equals: one }
`;
    const end = await drive(script, { vars: { who: "world", task: "a test" } });
    expect(end).toEqual({ outcome: "done", exitCode: 0, signal: null });
    expect(readFileSync(await inRoot("world.txt"), "utf8")).toBe("home\nhello world|0|ok");
    expect(gate.called).toEqual(["step-2 run_command", "step-3 write_file", "step-5 read_file"]);
    expect(shown).toContain("For a test.\n");
    expect(shown).toMatch(/\[2\/5\] run_command: ok\n/);
    expect(shown).toMatch(/\[4\/5\] said has no field lines_wanted; it has text, outcome, exit_code/);
    expect(await records("turn_started")).toHaveLength(1);
    expect(await records("turn_ended")).toMatchObject([{ outcome: "completed" }]);
    expect(await records("message_added")).toMatchObject([{ role: "assistant", content: "For a test." }]);
    expect(home.task.last.current, "a checkpoint follows the turn").toBeDefined();
  });

  it.each([
    ["an outcome", "{ tool: run_command, with: { command: exit 2 } }", "its outcome was error, not ok"],
    [
      "an exit status",
      "{ tool: run_command, with: { command: exit 2 }, expect: { exit_code: 3 } }",
      "was 2, not 3",
    ],
    ["a text", "{ tool: read_file, with: { path: a.txt }, expect: { contains: two } }", 'contain \\"two\\"'],
    [
      "an expression",
      "{ tool: read_file, with: { path: a.txt }, expect: { matches: ^t } }",
      'match \\"^t\\"',
    ],
    ["a whole text", "{ tool: read_file, with: { path: a.txt }, expect: { equals: on } }", 'is not \\"on\\"'],
    ["a tool that the lane lacks", "{ tool: git_push }", "its outcome was refused, not ok"],
    [
      "an expression that takes too long",
      '{ tool: run_command, with: { command: "printf %40s | tr \' \' a; echo b" }, expect: { matches: "^(a+)+$" } }',
      "does not match",
    ],
  ])("stops when a result is not as expected: %s", async (_, step, reason) => {
    const end = await drive(
      `steps:\n  - ${step}\n  - { tool: write_file, with: { path: after, content: x } }\n`,
    );
    expect(end).toEqual({ outcome: "failed", exitCode: 1, signal: null });
    expect(shown).toContain(reason.replaceAll("\\", ""));
    expect(existsSync(await inRoot("after"))).toBe(false);
    expect(await records("turn_ended")).toMatchObject([{ outcome: "failed" }]);
  });

  it("continues, or shows a text, when a step fails and its on_failure says so", async () => {
    const fails = "tool: run_command, with: { command: exit 1 }";
    const goesOn = `steps:\n  - { ${fails}, on_failure: continue }\n  - { say: went on }\n`;
    expect(await drive(goesOn)).toMatchObject({ outcome: "done" });
    expect(shown).toContain("went on");
    const says = `steps:\n  - { ${fails}, as: x, on_failure: { say: "status \${x.exit_code}" } }\n  - { say: never }\n`;
    expect(await drive(says)).toMatchObject({ outcome: "failed" });
    expect(shown).toContain("status 1\n");
    expect(shown).not.toContain("never");
    const early = `vars: { y: "" }\nsteps:\n  - { tool: read_file, with: { path: "\${y.z}" }, as: x, on_failure: { say: "\${x}" } }\n`;
    expect(await drive(early)).toMatchObject({ outcome: "failed" });
    expect(shown).toContain("y is a text, so it has no field z");
  });

  it("script-1 goes on without repeating finished steps, and runs the step that was cut off again with a note", async () => {
    const script = `
steps:
  - { say: begins }
  - { tool: run_command, with: { command: "echo run >> count; echo first" }, as: first }
  - { tool: run_command, with: { command: "echo run >> cut; cat cut" }, as: second }
  - { tool: write_file, with: { path: end, content: "\${first} \${first.exit_code} \${second}" } }
`;
    gate.cutAt = "step-3";
    await expect(drive(script)).rejects.toThrow("cut off");
    expect(await records("tool_returned")).toMatchObject([
      { call: "step-2", outcome: "ok" },
      { call: "step-3", outcome: "interrupted" },
    ]);
    gate.cutAt = undefined;
    shown = "";
    expect(await drive(script, { isGoingOn: true })).toMatchObject({ outcome: "done" });
    expect(gate.called).toEqual(
      ["step-2", "step-3", "step-3", "step-4"].map(
        (call, at) => `${call} ${at === 3 ? "write_file" : "run_command"}`,
      ),
    );
    expect(shown).toContain("[2/4] run_command: ok, as before\n");
    expect(shown).toMatch(/\[3\/4\] run_command was cut off.*it runs again\n/);
    expect(shown).not.toContain("begins");
    expect(readFileSync(await inRoot("end"), "utf8")).toBe("first 0 run\nrun");
  });

  it("fails, instead of running a step again, if the step was cut off and has on_cut: fail", async () => {
    const script = "steps:\n  - { tool: run_command, with: { command: echo x >> x }, on_cut: fail }\n";
    gate.cutAt = "step-1";
    await expect(drive(script)).rejects.toThrow("cut off");
    gate.cutAt = undefined;
    expect(await drive(script, { isGoingOn: true })).toMatchObject({ outcome: "failed" });
    expect(readFileSync(await inRoot("x"), "utf8")).toBe("x\n");
    expect(shown).toContain("run_command was cut off, and on_cut is fail");
  });

  it("stops at a failed step again after a crash, without running that step again", async () => {
    const script =
      "steps:\n  - { tool: run_command, with: { command: echo x >> x; exit 1 } }\n  - { say: never }\n";
    expect(await drive(script)).toMatchObject({ outcome: "failed" });
    expect(await drive(script, { isGoingOn: true })).toMatchObject({ outcome: "failed" });
    expect(readFileSync(await inRoot("x"), "utf8")).toBe("x\n");
  });

  it("ends the current step at a pause, and runs that step again when it goes on", async () => {
    const script =
      "steps:\n  - { tool: run_command, with: { command: 'echo x >> x; [ -e go ] || sleep 1005' } }\n";
    const stopping = new AbortController();
    const driven = drive(script, { signal: stopping.signal });
    while (!existsSync(await inRoot("x"))) await sleep(20);
    stopping.abort("pause");
    expect(await driven).toMatchObject({ outcome: "stopped" });
    expect(await records("tool_returned")).toMatchObject([{ call: "step-1", outcome: "interrupted" }]);
    await home.call("write_file", { path: "go", content: "" });
    expect(await drive(script, { isGoingOn: true })).toMatchObject({ outcome: "done" });
    expect(readFileSync(await inRoot("x"), "utf8")).toBe("x\nx\n");
  });

  it("is parked until a person decides, and then makes the same call again", async () => {
    const script = `
steps:
  - { tool: run_command, with: { command: echo x >> x } }
  - { tool: git_log }
  - { tool: ask_person, with: { question: "May I?" } }
`;
    gate.held.add("step-2");
    expect(await drive(script)).toEqual({
      outcome: "parked",
      parked: { reason: "approval", detail: "git_log", requests: [] },
    });
    expect(home.session.state.openTurn).toBeNull();
    gate.held.clear();
    expect(await drive(script, { isGoingOn: true })).toMatchObject({
      outcome: "parked",
      parked: { reason: "answer" },
    });
    expect(gate.called).toEqual(["step-1 run_command", "step-2 git_log", "step-3 ask_person"]);
    expect(await drive(script, { isGoingOn: true })).toMatchObject({ outcome: "parked" });
    expect(gate.called.at(-1)).toBe("step-3 ask_person");
    expect(home.asked).toHaveLength(2);
  });

  it("waits for a message, and does not wait for it again after a restart", async () => {
    const dispatcher = await Dispatcher.open({ home: home.dir });
    const script = `
steps:
  - { wait_message: { seconds: 60 }, as: message }
  - { tool: write_file, with: { path: got, content: "\${message}" } }
  - { wait_message: { seconds: 0.05 }, on_failure: continue }
`;
    await dispatcher.send(home.session.id, "from outside");
    expect(await drive(script)).toMatchObject({ outcome: "done" });
    expect(readFileSync(await inRoot("got"), "utf8")).toBe("from outside");
    expect(shown).toContain("[3/3] wait_message: its outcome was error, not ok");
    expect(await records("message_entered_context")).toHaveLength(1);
    expect(await drive(script, { isGoingOn: true }), "what came is not waited for again").toMatchObject({
      outcome: "done",
    });
  });

  it("shows no escape sequences, which could take over a terminal", async () => {
    await drive(
      'steps:\n  - { say: "a\\u001b]0;x\\u0007" }\n  - { tool: read_file, with: { path: "\\u001b[2J" } }\n',
    );
    expect(shown).not.toContain("\u001b");
  });

  it("runs every example of docs/script.md to a successful end", async () => {
    const text = readFileSync(join(import.meta.dirname, "..", "..", "docs", "script.md"), "utf8");
    const examples = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
      .map(([, example = ""]) => example)
      .filter((example) => /^steps:/m.test(example));
    expect(examples.length).toBeGreaterThan(3);
    for (const example of examples) {
      using other = new ToolHome({ "a.txt": "one\n" });
      await other.begin();
      const work = other.task.workplace({
        gate: new TestGate(other),
        onOutput: (chunk) => {
          shown += chunk;
        },
      });
      expect(
        await adapterOf(specOf(example)).drive(work, specOf(example)),
        `${example}${shown}`,
      ).toMatchObject({
        outcome: "done",
      });
      await other.rest();
    }
  });
});

describe("the form of a script", () => {
  it.each([
    ["steps: [", 1, /./],
    ["", 1, /steps/],
    ["steps: []", 1, /steps/],
    ["steps:\n  - say: x\n    tool: y", 2, /exactly one of say, tool and wait_message/],
    ["steps:\n  - as: x", 2, /exactly one/],
    ["steps:\n  - say: x\n    expect: { outcome: ok }", 3, /expect: can.t be used with say/],
    ["steps:\n  - say: x\n    more: 1", 3, /more: no such key/],
    ["steps:\n  - tool: t\n    expect: { outcome: fine }", 3, /outcome/],
    ["steps:\n  - tool: t\n    expect:\n      matches: '('", 4, /is not a regular expression/],
    ["steps:\n  - tool: t\n    as: 1a", 3, /is not a name/],
    ["steps:\n  - tool: t\n    on_failure: retry", 3, /on_failure/],
    ["steps:\n  - tool: t\n    with:\n      a: ok\n      b: ['${x}']", 5, /there is no variable x here/],
    ["steps:\n  - say: '${later}'\n  - tool: t\n    as: later", 2, /no variable later/],
    ["steps:\n  - say: '${task}'", 2, /what the task is asked to do/],
    ["steps:\n  - say: a\n  - say: '${}'", 3, /no variable/],
    ["steps:\n  - say: a\n  - say: b\n    say: c", 4, /unique/],
  ])("refuses %j and names the line", async (text, line, reason) => {
    await expect(parseScript(text, {})).rejects.toMatchObject({
      code: "script_invalid",
      message: expect.stringMatching(reason),
      facts: { line },
    });
  });

  it("accepts given variables, the script's own, and text that only looks like a variable", async () => {
    const text = "vars: { a: one, b: two }\nsteps:\n  - say: '${a} ${b} $${c} ${d.e}'";
    const { vars } = await parseScript(text, { b: "given", d: "x" });
    expect(vars).toEqual({ a: "one", b: "given", d: "x" });
  });

  it("an agent with only the gate's tools is accepted in a lane without commands", async () => {
    const held = assertHeld(specOf(""), { name: "edit", isWithoutCommands: true });
    await expect(held).resolves.toBeUndefined();
  });
});
