/**
 * Secrets in messages: the files of an inbox or an outbox have none, however long they stay there.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorCode, tryFileLock } from "../../src/util/index.ts";
import { ask, doorOf, tokenOf } from "../support/doors.ts";
import { agent, type Dispatcher, HostHome, typesOf, until } from "../support/hosts.ts";
import { installedPatterns, secretOf } from "../support/secrets.ts";

const WORD = "marmalade";
/** Longer than a message may be once its secrets are redacted, but not before. */
const GROWING = "mysql://u:abcd@h\n".repeat(15_000);

/** A new secret for each of two rules. */
async function someSecrets(): Promise<[string, string]> {
  const patterns = await installedPatterns();
  const draw = (rule: string) => fc.sample(secretOf(patterns.get(rule)?.[0] as RegExp), 1)[0] as string;
  return [draw("github"), draw("gitlab")];
}

/**
 * Every file below a directory that contains the text. A file that vanishes meanwhile does not count. Locks
 * are left out: to read one that this process holds would release it.
 */
function filesWith(dir: string, text: string): string[] {
  const entries = whileThere(() => readdirSync(dir, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.name.endsWith(".lock")) return [];
    if (entry.isDirectory()) return filesWith(path, text);
    return entry.isFile() && whileThere(() => readFileSync(path).includes(text)) ? [path] : [];
  });
}

function whileThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return undefined;
  }
}

/** A session whose agent waits for messages, and a function that sends one from it. */
async function startSender(home: HostHome, dispatcher: Dispatcher) {
  const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
  await until(async () => (await typesOf(dispatcher, id)).includes("process_started"));
  const door = await until(() => doorOf(home, id), existsSync);
  const post = (to: string, text: string) =>
    ask(door, tokenOf(home, id), {
      method: "POST",
      path: "/v1/outbox",
      body: JSON.stringify({ to, text }),
    });
  return { id, post };
}

const boxed = (home: HostHome, box: string) =>
  filesWith(home.dir, WORD).filter((path) => path.includes(`/${box}/new/`));

describe("a message with a secret", () => {
  it("message-2 is stored without it in the inbox of a session at rest, and only once if it is sent twice", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    await session.release();
    const [first, second] = await someSecrets();
    await dispatcher.send(session.id, `${WORD} ${first} and TOKEN${second}`);
    const byHand = await home.cli(
      "send",
      session.id,
      `${WORD} TOKEN${first} and ${second}`,
      "--id",
      "msg_once",
    );
    expect(byHand.status).toBe(0);
    const again = await dispatcher.send(session.id, `${WORD} ${first}`, { id: "msg_once" });
    expect(again).toMatchObject({ message: "msg_once", isNew: false });
    // The control: the messages are where the secrets would be.
    expect(boxed(home, "inbox")).toHaveLength(2);
    for (const path of boxed(home, "inbox"))
      expect(readFileSync(path, "utf8")).toMatch(/\[redacted:github\] and .*\[redacted:gitlab\]/);
    for (const secret of [first, second]) expect(filesWith(home.dir, secret)).toEqual([]);
  });

  it("message-2 is stored without it in the sender's outbox and in the receiver's inbox", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const resting = await dispatcher.holdfast.openSession({ repo: home.main });
    await resting.release();
    const { id, post } = await startSender(home, dispatcher);
    const carrying = await until(() => tryFileLock(join(home.dir, "post.lock")));
    const [first, second] = await someSecrets();
    expect((await post(resting.id, `${WORD} ${first} and TOKEN${second}`)).status).toBe(202);
    expect(boxed(home, "outbox")).toHaveLength(1);
    for (const secret of [first, second]) expect(filesWith(home.dir, secret)).toEqual([]);
    const sent = (await Array.fromAsync(dispatcher.holdfast.readJournal(id))).filter(
      ({ type }) => type === "message_sent",
    );
    expect(sent.map(({ redacted }) => redacted)).toEqual([["github", "gitlab"]]);
    carrying?.drop();
    await until(() => boxed(home, "inbox").length === 1);
    for (const secret of [first, second]) expect(filesWith(home.dir, secret)).toEqual([]);
    expect(readFileSync(boxed(home, "inbox")[0] ?? "", "utf8")).toContain("[redacted:gitlab]");
    await dispatcher.send(id, "stop");
    await home.quiet();
  });

  it("message-2 is refused, and nothing of it is written, if it is too long once the secret is redacted", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const resting = await dispatcher.holdfast.openSession({ repo: home.main });
    await resting.release();
    await expect(dispatcher.send(resting.id, GROWING)).rejects.toMatchObject({ code: "message_too_large" });
    expect((await dispatcher.show(resting.id)).inbox).toBe(0);
    const { id, post } = await startSender(home, dispatcher);
    const { records } = await dispatcher.show(id);
    const refused = await post(resting.id, GROWING);
    expect(refused.status).toBe(413);
    expect(refused.text).toContain("message_too_large");
    expect((await dispatcher.show(id)).records).toBe(records);
    expect(filesWith(home.sessionDir(id, "outbox"), "")).toEqual([]);
    expect(filesWith(home.dir, "u:abcd@h")).toEqual([]);
    await dispatcher.send(id, "stop");
    await home.quiet();
  });
});
