/**
 * Misbehaving agents of the Agent Client Protocol: the task ends, or can be ended, with a clear reason, and
 * the same session goes on with another agent, which gets a summary.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

const fixtures = join(import.meta.dirname, "..", "fixtures", "agents");
const GEMINI = `#!/bin/sh
case "$GEMINI_MODEL" in hostile-*) program=hostile-acp.ts ;; *) program=telling.ts ;; esac
exec node "$(dirname "$0")/$program" "$@"
`;

async function start(...given: Parameters<typeof AgentHome.start>): Promise<AgentHome> {
  const home = await AgentHome.start(...given);
  for (const name of ["telling.ts", "hostile-acp.ts"])
    copyFileSync(join(fixtures, name), home.join("bin", name));
  for (const name of ["gemini", "stranger"]) writeFileSync(home.join("bin", name), GEMINI, { mode: 0o755 });
  return home;
}

const hostile = (home: AgentHome, way: string, ...options: string[]) =>
  home.run(way, "do", "--agent", "gemini", "--model", `gemini/hostile-${way}`, ...options);

// Without a sandbox, HOME would be the user's own.
describe.skipIf(!hasSandbox)("a misbehaving agent of the Agent Client Protocol", () => {
  it("fails its task with a clear reason, and another agent can take over its session", async () => {
    await using home = await start({ good: [{ say: "All good." }] });
    const texts = {
      exit137: "The agent ended before it had answered (exit 137",
      malformed: "The agent was ended: it broke its protocol",
      line: "The agent was ended: ",
    };
    for (const [way, text] of Object.entries(texts)) {
      const { status, stdout, stderr } = await hostile(home, way);
      expect([status, stdout], stderr).toEqual([1, expect.stringContaining(text)]);
      expect(stdout + stderr).not.toMatch(/^ +at /m);
    }
    // With another agent in the same session: the new one is told what happened.
    const next = ["run", "--session", "exit137", "--agent", "claude", "do [[good]]"];
    expect(await home.holdfast(...next)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^All good\.\n?$/),
    });
    const begun = (await home.records("exit137")).filter(({ type }) => type === "conversation_begun");
    expect(begun.map(({ data }) => [data["agent"], data["how"]])).toEqual([
      ["gemini", "new"],
      ["claude", "primed"],
    ]);
    expect(home.model.requests.at(-1)?.body).toContain("## Turn 1 (failed)");
  });
});

describe.skipIf(!hasSandbox)(
  "an agent of the Agent Client Protocol that asks for a call outside a turn",
  () => {
    it("is refused it", async () => {
      await using home = await start();
      const { status, stdout } = await hostile(home, "outside");
      expect([status, stdout]).toEqual([0, expect.stringContaining("ANSWERED")]);
      expect(stdout).toContain('"optionId":"no"');
    });
  },
);

describe.skipIf(!hasSandbox)("an agent of the Agent Client Protocol that never ends", () => {
  it("can be interrupted if it hangs or floods, and does not fill the session process's memory", async () => {
    await using home = await start();
    const ways = ["hang", "flood"];
    await Promise.all(ways.map((way) => hostile(home, way, "--detach")));
    await until(async () => (await home.records("flood")).length > 30);
    await until(async () => (await home.records("hang")).some(({ type }) => type === "process_started"));
    // What it writes waits in its pipe, not in the memory of the session process.
    const status = readTextOr(`/proc/${home.hostPid(home.idOf("flood"))}/status`, "");
    expect(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024).toBeLessThan(200);
    const isCancelled = async (way: string) => {
      await home.holdfast("interrupt", way);
      expect((await home.holdfast("wait", way)).stdout).toContain(`${way} task 1 cancelled`);
    };
    await Promise.all(ways.map(isCancelled));
  });
});

describe.skipIf(!hasSandbox)("the start of an agent of the Agent Client Protocol", () => {
  it("passes on the user's instructions but no login; an unknown agent is started by its definition", async () => {
    await using home = await start();
    mkdirSync(home.join("person", ".gemini"), { recursive: true });
    writeFileSync(home.join("person", ".gemini", "GEMINI.md"), "SAY-PLEASE\n");
    writeFileSync(home.join("person", ".gemini", "oauth_creds.json"), "PLANTED\n");
    const ofPerson = (path: string, mode = 0o644) => {
      mkdirSync(dirname(home.join("person", path)), { recursive: true });
      writeFileSync(home.join("person", path), "#!/bin/sh\n", { mode });
      return path;
    };
    const script = ofPerson(".gemini/skills/one/run.sh", 0o755);
    const plain = ofPerson(".gemini/commands/two.toml");
    const ofOpencode = ["agents/a.md", "commands/c.md"].map((name) => ofPerson(`.config/opencode/${name}`));
    home.env["HOME"] = home.join("person");
    await home.run("known", "hello", "--agent", "gemini");
    const inHome = (session: string, ...path: string[]) =>
      home.sessionDir(home.idOf(session), "home", ...path);
    expect(readFileSync(inHome("known", ".gemini", "GEMINI.md"), "utf8")).toBe("SAY-PLEASE\n");
    expect(existsSync(inHome("known", ".gemini", "oauth_creds.json"))).toBe(false);
    const modeOf = (path: string) => statSync(inHome("known", path)).mode & 0o111;
    expect([modeOf(script), modeOf(plain)]).toEqual([0o111, 0]);
    await home.run("other", "hello", "--agent", "opencode");
    for (const path of ofOpencode) expect(existsSync(inHome("other", path)), path).toBe(true);
    const file = "agents: { odd-one: { adapter: acp, command: [stranger, --quiet] } }\n";
    commitFiles(home.main, { "holdfast.yaml": file }, "an agent");
    const { status, stdout } = await home.run("unknown", "hello", "--agent", "odd-one");
    expect([status, stdout.trim()]).toEqual([0, "heard hello"]);
    const begun = (await home.records("unknown")).find(({ type }) => type === "conversation_begun");
    expect(begun?.data).toMatchObject({ agent: "odd-one", how: "new" });
  });
});
