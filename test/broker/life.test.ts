/**
 * The broker's life: a home has one while a session needs it, and its keys can't be seen from outside.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { bringKeys } from "../../src/broker/bringing.ts";
import type { SessionId } from "../../src/contract/index.ts";
import { withLine } from "../../src/line/index.ts";
import { identityOf } from "../../src/util/index.ts";
import { BrokerHome, bytesOf, modelRequest, TestProvider } from "../support/broker.ts";

const PLANTED = "sk-ant-api03-planted-in-life";

/** Polls until it is so. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

async function status(connection: Awaited<ReturnType<BrokerHome["connect"]>>, provider = "anthropic") {
  const path = provider === "anthropic" ? "/v1/messages" : "/v1/responses";
  const answer = await connection.forward(modelRequest({ provider, path }));
  await bytesOf(answer.body);
  return answer.status;
}

/** The running brokers of a home. */
function brokersOf({ dir }: BrokerHome): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0)
    .filter((pid) => {
      const words = textOr(`/proc/${pid}/cmdline`).split("\0");
      return words.includes(dir) && words.some((word) => /broker\/main\.[jt]s$/.test(word));
    });
}

/** Whether all its threads have ended: until then its sockets are open. */
function isGone(pid: number): boolean {
  const dir = `/proc/${pid}/task`;
  return (
    !existsSync(dir) || readdirSync(dir).every((id) => /^State:\s+[ZX]/m.test(textOr(`${dir}/${id}/status`)))
  );
}

function textOr(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

const settingsFor = (home: BrokerHome, { url }: TestProvider) => `providers:
  anthropic: { base_url: "${url}" }
  openai: { base_url: "${url}" }
keys: { openai: { file: ${home.userFile("key", "of-a-file")} } }
`;

describe("the broker", () => {
  it("broker-1 is the only one that stays when several are started at once, with the keys passed to all", async () => {
    await using provider = await TestProvider.start();
    await using home = await BrokerHome.make();
    home.settings(settingsFor(home, provider));
    const sessions = await Promise.all(Array.from({ length: 3 }, () => home.session()));
    await Promise.all(
      sessions.map((session, index) => bringKeys(home.home, session, { ANTHROPIC_API_KEY: `key-${index}` })),
    );
    await until(() => brokersOf(home).length === 1);
    for (const [index, session] of sessions.entries()) {
      expect(await status(await home.connect(session))).toBe(200);
      expect(provider.last.headers["x-api-key"]).toBe(`key-${index}`);
    }
    expect(brokersOf(home)).toEqual([await home.pid()]);
  });

  it("stays for a connection or a place in the line, and exits when there is neither", async () => {
    await using home = await BrokerHome.make();
    const session = await home.session();
    await home.start({ lingerMs: 150 });
    const connection = await home.connect(session);
    const pid = await home.pid();
    // Long enough for it to have exited if it were not needed.
    await sleep(700);
    expect([pid, await home.pid()]).toEqual([expect.any(Number), pid]);
    await setPlace(home, session, "waiting");
    connection.close();
    await sleep(700);
    expect(await home.pid()).toBe(pid);
    // A place that was granted to a process that has ended does not count.
    await setPlace(home, session, "granted");
    await until(() => brokersOf(home).length === 0);
    expect(existsSync(home.socket)).toBe(false);
  });

  it("forgets a session's keys after its last connection closed, and goes on serving other sessions", async () => {
    await using provider = await TestProvider.start();
    await using home = await BrokerHome.make();
    home.settings(settingsFor(home, provider));
    const [one, two] = [await home.session(), await home.session()];
    await home.start({ lingerMs: 150, brought: { session: one, values: { ANTHROPIC_API_KEY: "of-one" } } });
    const other = await home.connect(two);
    const first = await home.connect(one);
    expect(await status(first)).toBe(200);
    first.close();
    await until(async () => {
      const again = await home.connect(one);
      const credential = await again.credential("anthropic");
      again.close();
      // Long enough without a connection for its keys to be forgotten.
      await sleep(500);
      return credential === undefined;
    });
    expect(await status(other, "openai")).toBe(200);
  });

  it("is started again by the next request after a kill, with every key that is still available", async () => {
    await using provider = await TestProvider.start();
    await using home = await BrokerHome.make();
    home.settings(settingsFor(home, provider));
    const session = await home.session();
    await bringKeys(home.home, session, { ANTHROPIC_API_KEY: PLANTED });
    const connection = await home.connect(session);
    expect([await status(connection), await status(connection, "openai")]).toEqual([200, 200]);
    const pid = await home.pid();
    await home.kill();
    await until(() => isGone(pid ?? 0));
    expect(await status(connection, "openai")).toBe(200);
    expect(await home.pid()).not.toBe(pid);
    await expect(status(connection)).rejects.toMatchObject({
      code: "key_missing",
      facts: { provider: "anthropic", help: expect.stringContaining("set ANTHROPIC_API_KEY") },
    });
    await bringKeys(home.home, session, { ANTHROPIC_API_KEY: PLANTED });
    expect(await status(connection)).toBe(200);
  });

  it("a request fails with an error if the broker is killed in the middle of it", async () => {
    await using provider = await TestProvider.start((request) => void request.resume());
    await using home = await BrokerHome.make();
    home.settings(settingsFor(home, provider));
    const connection = await home.connect(await home.session());
    const failure = expect(status(connection, "openai")).rejects.toMatchObject({ code: "broker_failed" });
    await until(() => provider.heard.length === 1);
    await home.kill();
    await failure;
  });

  it("serves a session that starts while the previous broker exits", async () => {
    await using provider = await TestProvider.start();
    await using home = await BrokerHome.make();
    home.settings(settingsFor(home, provider));
    const session = await home.session();
    for (const waitMs of [0, 15, 30]) {
      await home.start({ lingerMs: 20 });
      // The next connection finds it running, exiting or gone.
      await sleep(waitMs);
      const connection = await home.connect(session);
      expect(await status(connection, "openai")).toBe(200);
      connection.close();
      await home.kill();
    }
  });

  it("provider-1 leaves no key in its arguments, variables, files, log or core dump", async () => {
    await using provider = await TestProvider.start((_, response) => void response.socket?.destroy());
    await using home = await BrokerHome.make();
    const path = home.userFile("key", PLANTED);
    home.settings(`providers:
  anthropic: { base_url: "${provider.url}" }
  openai: { base_url: "${provider.url}" }
keys:
  openai: { file: ${path} }
  gemini: { command: [cat, ${path}] }
`);
    const session = await home.session();
    await bringKeys(home.home, session, { ANTHROPIC_API_KEY: PLANTED, SECRET_OF_MINE: PLANTED });
    const connection = await home.connect(session);
    // Failures are written to its log.
    await expect(status(connection)).rejects.toMatchObject({ code: "provider_unreachable" });
    await expect(connection.forward(modelRequest({ path: "/v1/files" }))).rejects.toThrow();
    expect(provider.last.headers["x-api-key"]).toBe(PLANTED);
    // A session that brought no keys is served by the login and the key file.
    const login = { claudeAiOauth: { accessToken: PLANTED, refreshToken: PLANTED, expiresAt: 9e15 } };
    home.userFile(".claude/.credentials.json", JSON.stringify(login));
    const other = await home.connect(await home.session());
    await expect(status(other)).rejects.toMatchObject({ code: "provider_unreachable" });
    expect(provider.last.headers.authorization).toBe(`Bearer ${PLANTED}`);
    await expect(status(other, "openai")).rejects.toMatchObject({ code: "provider_unreachable" });
    const pid = await home.pid();
    for (const name of ["cmdline", "environ"])
      expect(textOr(`/proc/${pid}/${name}`)).not.toContain("planted");
    expect(textOr(`/proc/${pid}/environ`)).not.toMatch(/SECRET_OF_MINE|API_KEY/);
    expect(textOr(`/proc/${pid}/limits`)).toMatch(/^Max core file size +0 +0 /m);
    expect(textOr(`/proc/${pid}/coredump_filter`)).toMatch(/^0+$/m);
    expect(readFileSync(home.log, "utf8")).toContain("provider_unreachable");
    const files = [...filesBelow(home.dir), ...filesBelow(dirname(home.socket))];
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect(readFileSync(file, "latin1"), file).not.toContain(PLANTED);
    process.kill(pid ?? 0, "SIGSEGV");
    await until(() => brokersOf(home).length === 0);
    for (const file of filesBelow(dirname(home.socket)))
      expect(readFileSync(file, "latin1"), file).not.toContain(PLANTED);
    expect(statSync(dirname(home.socket)).mode & 0o777).toBe(0o700);
  });
});

function setPlace(home: BrokerHome, session: SessionId, state: "waiting" | "granted"): Promise<void> {
  const gone = { ...identityOf(process.pid), startTicks: 1 };
  const place = { session, definition: "x", priority: 0, order: 1, state, reason: null, maxSessions: null };
  const rest = { maxMemoryBytes: null, by: null, maker: null, attempts: 0, isTaken: true };
  const sessionProcess = state === "granted" ? gone : null;
  return withLine(home.home, (line) => line.set({ ...place, ...rest, sessionProcess }));
}
