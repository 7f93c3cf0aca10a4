/**
 * A message to a session at rest: which senders wake its agent, and what the agent may do then.
 */
import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { signalIfThere } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { openHoldfast } from "../support/library.ts";
import { commitFiles } from "../support/repo.ts";
import { Served } from "../support/served.ts";
import { processesWith } from "../support/values.ts";

if (!hasSandbox) console.log("left out: messages that wake an agent: it is woken in a sandbox alone");
const said = { one: [{ say: "FIRST-SAID" }] };

describe.runIf(hasSandbox)("a message to a session at rest", () => {
  it("wakes its agent only if it is from a person, without --no-wake, and the session was not paused", async () => {
    await using home = await AgentHome.start(said);
    await Promise.all([home.run("one", "[[one]]"), home.run("other", "[[one]]")]);
    const atRest = () => until(() => home.hostPid(home.idOf("one")) === undefined);
    const isWoken = async (...words: string[]) =>
      JSON.parse((await home.holdfast("send", "--json", ...words)).stdout).isWoken;
    await atRest();
    expect(await isWoken("one", "--no-wake", "LEFT-UNREAD")).toBe(false);
    expect(await isWoken("--from", "other", "one", "OF-ANOTHER")).toBe(false);
    expect(await isWoken("one", "WOKEN-BY")).toBe(true);
    await home.holdfast("wait", "one");
    const last = JSON.stringify(home.model.requests.at(-1)?.body);
    for (const text of ["FIRST-SAID", "LEFT-UNREAD", "OF-ANOTHER", "WOKEN-BY"]) expect(last).toContain(text);
    // Nothing is due after this, but a person has paused it.
    await home.holdfast("run", "--session", "one", "--detach", "--", "sleep", "60");
    await until(async () => (await home.records("one")).at(-1)?.type === "process_started");
    await home.holdfast("pause", "one");
    await atRest();
    const { stdout } = await home.holdfast("show", "one", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ due: "nothing", pausedFor: "asked" });
    expect(await isWoken("one", "later")).toBe(false);
    // Nor does a message waive the sandbox again.
    await home.run("bare", "[[one]]", "--no-sandbox");
    expect(await isWoken("bare", "more")).toBe(false);
  });

  it("does the same over the API, where `wake` can be false", async () => {
    await using home = await AgentHome.start(said);
    await home.run("one", "[[one]]");
    await until(() => home.hostPid(home.idOf("one")) === undefined);
    await using served = await Served.start(home);
    const send = async (body: object) => {
      const path = `/v1/sessions/${home.idOf("one")}/messages`;
      return (await served.ask(path, { method: "POST", body: JSON.stringify(body) })).body;
    };
    expect(await send({ text: "LEFT-UNREAD", wake: false })).toMatchObject({ isNew: true, isWoken: false });
    expect(await send({ text: "WOKEN-BY", id: "msg_two" })).toMatchObject({ isHeard: false, isWoken: true });
    await home.holdfast("wait", "one");
    expect(await send({ text: "WOKEN-BY", id: "msg_two" })).toMatchObject({ isNew: false, isWoken: false });
    const last = JSON.stringify(home.model.requests.at(-1)?.body);
    for (const text of ["FIRST-SAID", "LEFT-UNREAD", "WOKEN-BY"]) expect(last).toContain(text);
  });

  it("gives its agent the model of the last task, the same lane or a narrower one, and no hosts", async () => {
    await using home = await AgentHome.start(said);
    const wokenIn = async (lane: string) => {
      const more = ["--lane", lane, "--host", "example.org", "--model", `model-${lane}`];
      await home.run(lane, "[[one]]", ...more);
      await home.holdfast("send", lane, "go on");
      await home.holdfast("wait", lane);
      const begun = (await home.records(lane)).filter(({ type }) => type === "task_started");
      expect(begun).toHaveLength(2);
      const { lane: name, hosts = [] } = begun[1]?.data ?? {};
      const { model } = JSON.parse(home.model.requests.at(-1)?.body ?? "{}");
      return { name, hosts, model };
    };
    const narrow = await wokenIn("read-only");
    expect(narrow).toEqual({ name: "read-only", hosts: [], model: "model-read-only" });
    expect(await wokenIn("online")).toEqual({ name: "repo-fix", hosts: [], model: "model-online" });
  });
});

describe.runIf(hasSandbox)("a person's message to an agent that has ended", () => {
  afterEach(() => vi.unstubAllEnvs());
  const lastAsked = (home: AgentHome) => JSON.stringify(home.model.requests.at(-1)?.body);

  /** A session whose agent has ended, and whose check runs until it is killed. */
  async function checking(marker: string) {
    const home = await AgentHome.start({
      one: [{ call: { bash: { command: "echo done > done" } } }, { say: "FIRST-SAID" }],
    });
    const file = `checks:\n  - { name: slow, run: sleep ${marker} }\n`;
    commitFiles(home.main, { "holdfast.yaml": file }, "a slow check");
    const checks = () => processesWith(`sleep\0${marker}`);
    await home.run("one", "[[one]]", "--detach");
    const isVerifying = async () =>
      (await home.records("one")).some(
        ({ type, data }) => type === "stage_started" && data["stage"] === "verify",
      );
    await until(isVerifying);
    await until(() => checks().length > 0);
    const isTakenIn = async (text: string) =>
      (await home.records("one")).some(({ data }) => data["text"] === text);
    const endChecks = () => {
      for (const pid of checks()) signalIfThere(Number(pid), "SIGKILL");
    };
    return { home, isTakenIn, endChecks };
  }

  it("wakes it after its work was checked and saved, unless a person does not want that", async () => {
    const { isTakenIn, endChecks, ...started } = await checking(`${86_400 + process.pid}`);
    await using home = started.home;
    const isWoken = async (...words: string[]) =>
      JSON.parse((await home.holdfast("send", "--json", ...words)).stdout).isWoken;
    expect(await isWoken("one", "--no-wake", "LEFT-UNREAD")).toBe(false);
    const late = isWoken("one", "COMES-LATE");
    await until(() => isTakenIn("COMES-LATE"));
    endChecks();
    expect(await late).toBe(true);
    await until(() => lastAsked(home).includes("COMES-LATE"));
    for (const text of ["FIRST-SAID", "LEFT-UNREAD"]) expect(lastAsked(home)).toContain(text);
    await home.holdfast("pause", "one");
  });

  it("wakes it in the same way over the library", async () => {
    const { isTakenIn, endChecks, ...started } = await checking(`${126_400 + process.pid}`);
    await using home = started.home;
    for (const [name, value] of Object.entries(home.env)) vi.stubEnv(name, value);
    const one = await (await openHoldfast({ home: home.dir })).session("one");
    expect(await one.send("LEFT-UNREAD", { wake: false })).toMatchObject({ isHeard: true, isWoken: false });
    const late = one.send("COMES-LATE");
    await until(() => isTakenIn("COMES-LATE"));
    endChecks();
    expect(await late).toMatchObject({ isNew: true, isHeard: true, isWoken: true });
    await until(() => lastAsked(home).includes("COMES-LATE"));
    expect(lastAsked(home)).toContain("LEFT-UNREAD");
    await one.pause();
  });

  it("wakes it in the same way over the API, which answers before that", async () => {
    const { endChecks, ...started } = await checking(`${166_400 + process.pid}`);
    await using home = started.home;
    await using served = await Served.start(home);
    const body = JSON.stringify({ text: "COMES-LATE" });
    const path = `/v1/sessions/${home.idOf("one")}/messages`;
    const sent = await served.ask(path, { method: "POST", body });
    expect(sent.body).toMatchObject({ isNew: true, isHeard: true, isWoken: false });
    endChecks();
    await until(() => lastAsked(home).includes("COMES-LATE"));
    await home.holdfast("pause", "one");
  });

  it("reaches it again if it was just leaving", async () => {
    await using home = await AgentHome.start(said);
    await home.run("leaving", "do", "--model", "hostile-lingers", "--detach");
    const isRead = (text: string) => async () =>
      (await home.records("leaving")).some(({ data }) =>
        new RegExp(`READ.*${text}`).test(JSON.stringify(data)),
      );
    await until(isRead("do"));
    await home.holdfast("send", "leaving", "COMES-LATE");
    writeFileSync(home.sessionDir(home.idOf("leaving"), "home", "released"), "");
    await until(isRead("COMES-LATE"));
    expect((await home.holdfast("wait", "leaving")).status).toBe(0);
  });
});
