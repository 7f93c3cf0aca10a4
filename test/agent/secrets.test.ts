/**
 * A planted key and a planted login are nowhere that a session, or a crash of one of its processes, could
 * reveal them. As a control, the same search finds a decoy that was put into the same places.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { brokerPlace } from "../../src/broker/wire.ts";
import { treeOf } from "../../src/process/tree.ts";
import { identityOf, isAlive, readTextOr, signalIfThere } from "../../src/util/index.ts";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import {
  canReadMemory,
  findInExport,
  findInFiles,
  findInMemory,
  findInObjects,
  findInProcess,
} from "../support/searching.ts";

const LOGIN = "sk-ant-oat01-planted-login-7c61e0";
const REFRESH = "sk-ant-ort01-planted-refresh-92b3fd";
/** In a file that settings.yaml names, for a provider that no agent here uses. */
const IN_FILE = "sk-planted-in-a-file-1b77d2";
/** Those that the broker has in its memory. */
const USED = [PLANTED_KEY, LOGIN, REFRESH];
const SECRETS = [...USED, IN_FILE];
/** The agent says and writes this, so it is in every place where the agent could have put a secret. */
const DECOY = "DECOY-5e1f73";
const SESSIONS = ["keyed", "logged-in"];
/** Reads everything that it can reach, and keeps running while the test looks. */
const LOOK = `echo ${DECOY} | tee ~/state made.txt; cat ~/.claude/.credentials.json ~/.claude/*.json; env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; DECOY=${DECOY} sleep 300`;

/** All processes of this home: session processes with their children, and the broker. */
const pidsOf = (home: AgentHome) => [...new Set(home.processes().flatMap((pid) => treeOf(pid)))];

/** Looks everywhere on disk: a core dump would be written to the working directory of its process. */
function onDisk(home: AgentHome, texts: readonly string[]): string[] {
  const repos = join(home.dir, "repos");
  const stores = readdirSync(repos).map((name) => join(repos, name, "store.git"));
  const dirs = [home.dir, home.main, dirname(brokerPlace(home.dir).socket)];
  return [...findInFiles(dirs, texts), ...findInObjects([home.main, ...stores], texts)];
}

async function inExport(home: AgentHome, session: string, texts: readonly string[]): Promise<string[]> {
  const file = home.join(`${session}.holdfast`);
  expect((await home.holdfast("export", "--with-home", "-o", file, session)).status).toBe(0);
  return [...findInExport(file, texts)];
}

/**
 * One session uses a key from the environment. The other uses the login, and runs in the foreground, so that
 * the command that a person waits for is searched, too.
 */
async function start(home: AgentHome): Promise<{ readonly foreground: Promise<unknown> }> {
  await home.run("keyed", "[[look]]", "--detach");
  for (const name of ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"]) home.env[name] = "";
  const foreground = home.run("logged-in", "[[look]]");
  await until(() => pidsOf(home).filter((pid) => wordsOf(pid) === "sleep 300").length === 2);
  return { foreground };
}

const wordsOf = (pid: number) => readTextOr(`/proc/${pid}/cmdline`, "").split("\0").join(" ").trim();

if (!hasSandbox)
  console.log("left out: where a secret could be shown: without a sandbox an agent reads its user's files");

describe.skipIf(!hasSandbox)("the key and the login of an agent", () => {
  it("are nowhere but in the broker's memory, even after each process has crashed", async () => {
    await using home = await AgentHome.start({
      look: [{ call: { bash: { command: LOOK } } }, { say: `${DECOY} ${"long ".repeat(20_000)}` }],
    });
    const person = home.join("person");
    mkdirSync(join(person, ".claude"), { recursive: true });
    const login = { claudeAiOauth: { accessToken: LOGIN, refreshToken: REFRESH, expiresAt: 9e15 } };
    writeFileSync(join(person, ".claude", ".credentials.json"), JSON.stringify(login), { mode: 0o600 });
    const file = join(person, "key");
    writeFileSync(file, `${IN_FILE}\n`, { mode: 0o600 });
    home.settings(`keys: { openai: { file: ${file} } }\n`);
    home.env["HOME"] = person;
    home.env["HOLDFAST_USER_HOME"] = person;
    const { foreground } = await start(home);
    // The control: the model was asked with them.
    const sent = home.model.requests.map(({ headers }) => headers["x-api-key"] ?? headers.authorization);
    expect(sent.sort()).toEqual([`Bearer ${LOGIN}`, PLANTED_KEY]);

    const pids = pidsOf(home);
    const [broker = 0] = home.pidsOf("broker");
    expect(pids).toContain(broker);
    expect(pids.filter((pid) => wordsOf(pid).includes("/cli/main.js run "))).toHaveLength(1);
    expect(pids.flatMap((pid) => findInProcess(pid, SECRETS))).toEqual([]);
    const shown = pids.flatMap((pid) => findInProcess(pid, [DECOY]));
    for (const name of ["cmdline", "environ"])
      expect(shown).toContainEqual(expect.stringMatching(`/${name}$`));
    // What a core dump would contain. The control is the broker's memory, which has the secrets; the broker
    // dumps no core.
    if (canReadMemory(broker)) {
      expect(findInMemory(broker, USED)).toHaveLength(USED.length);
      for (const pid of pids.filter((one) => one !== broker)) expect(findInMemory(pid, SECRETS)).toEqual([]);
    } else console.log("left out: the memory of processes: this machine does not let it be read");
    expect(readFileSync(`/proc/${broker}/limits`, "utf8")).toMatch(/^Max core file size +0 +0 /m);
    expect(onDisk(home, SECRETS)).toEqual([]);

    // One of each crashes: an agent, a session process, the broker.
    const [agent] = home.pidsOf("agent", await conversationOf(home, "keyed"));
    const crashing = [agent, home.hostPid(home.idOf("logged-in")), broker].map((pid) => {
      if (pid === undefined) throw new Error("a process that is to crash is not there");
      return identityOf(pid);
    });
    for (const { pid } of crashing) signalIfThere(pid, "SIGSEGV");
    for (const one of crashing) await until(() => !isAlive(one));
    await foreground;
    await home.holdfast("wait", "keyed");
    await home.holdfast("resume", "logged-in");
    await home.holdfast("wait", "logged-in");
    home.env["ANTHROPIC_API_KEY"] = PLANTED_KEY;
    await home.holdfast("run", "--session", "keyed", "--continue", "go on");
    for (const session of SESSIONS) await until(() => home.hostPid(home.idOf(session)) === undefined);

    expect(onDisk(home, SECRETS)).toEqual([]);
    const kept = onDisk(home, [DECOY]);
    for (const place of [/journal/, /blobs/, /\/home\/state$/, /store\.git/, /artifacts/])
      expect(kept).toContainEqual(expect.stringMatching(place));
    for (const session of SESSIONS) {
      const exported = await inExport(home, session, [DECOY, ...SECRETS]);
      expect(exported).not.toEqual([]);
      expect(exported.filter((one) => !one.startsWith(DECOY))).toEqual([]);
    }
    const asked = SESSIONS.flatMap((session) => [
      home.holdfast("log", "--json", session),
      home.holdfast("output", session),
    ]);
    const text = (await Promise.all(asked)).map(({ stdout, stderr }) => stdout + stderr).join("");
    expect(text).toContain(DECOY);
    for (const secret of SECRETS) expect(text).not.toContain(secret);
  });
});

async function conversationOf(home: AgentHome, session: string): Promise<string> {
  const begun = (await home.records(session)).filter(({ type }) => type === "conversation_begun");
  return String(begun.at(-1)?.data["conversation"]);
}
