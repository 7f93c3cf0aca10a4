/**
 * decision-1 to decision-3: what a person decides is recorded once, by the session process or without one. A
 * grant that the operator did not sign has no effect, wherever it is.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOperatorPublicKey, spend, wasSpent } from "../../src/approval/index.ts";
import type { Grant, Json, JsonObject } from "../../src/contract/index.ts";
import { type Home, openHome } from "../../src/home/index.ts";
import { type Envelope, encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { operatorKey } from "../../src/operator/key.ts";
import { signGrant } from "../../src/operator/signing.ts";
import { Session } from "../../src/session/index.ts";
import { recordDecision } from "../../src/task/index.ts";
import { inboxDir, outboxDir, realDisk } from "../../src/util/index.ts";
import { type Asked, askingAtRest, keyPair, parkedAsking, signed, termsOf } from "../support/approvals.ts";
import { ask, doorOf, tokenOf } from "../support/doors.ts";
import { type Dispatcher, HostHome, script, until } from "../support/hosts.ts";

const LOOP = "until [ -e $TMPDIR/end ]; do sleep 0.05; done";
const end = (home: HostHome, id: string) => writeFileSync(home.sessionDir(id, "tasks/1/tmp/end"), "");

const opened = (home: HostHome) => openHome({ home: home.dir, create: false });

async function recordsOf(dispatcher: Dispatcher, id: string) {
  const records: { seq: number; hash: string; type: string; data: JsonObject; at: string }[] = [];
  for await (const record of dispatcher.holdfast.readJournal(id)) records.push(record);
  return records;
}

const typesIn = async (dispatcher: Dispatcher, id: string, ...types: string[]) =>
  (await recordsOf(dispatcher, id)).map(({ type }) => type).filter((type) => types.includes(type));

/** A grant as the operator would sign it, for the recorded request. */
async function grantFor(
  home: Home,
  dispatcher: Dispatcher,
  { id, approval, fingerprint }: Asked,
): Promise<Grant> {
  const request = (await recordsOf(dispatcher, id)).findLast(({ data }) => data["approval"] === approval);
  if (!request) throw new Error("nothing was asked");
  return signGrant(home, { approval, request, session: id, fingerprint, by: "user:ani" }, request.at);
}

async function put(home: HostHome, id: string, envelope: Envelope): Promise<void> {
  const inbox = new Maildir(realDisk, inboxDir(home.sessionDir(id)));
  await inbox.make();
  await inbox.put(envelope.id, encodeEnvelope(envelope));
}

const grantEnvelope = (grant: Json, id = "ask_1"): Envelope => ({
  id,
  from: "user:ani",
  at: "2026-01-01T00:00:00.000Z",
  kind: "grant",
  grant,
});

/** A session whose process runs, with an approval that waits. */
async function runningAsking(home: HostHome): Promise<{ dispatcher: Dispatcher; asked: Asked }> {
  const asked = await askingAtRest(home);
  const dispatcher = await home.dispatcher();
  await dispatcher.submit(asked.id, script(LOOP));
  await until(
    () => dispatcher.show(asked.id),
    ({ turns }) => turns === 1,
  );
  return { dispatcher, asked };
}

describe("a decision", () => {
  it("decision-2 about a running session is recorded once, by its process, even if the grant comes twice", async () => {
    using home = new HostHome();
    const { dispatcher, asked } = await runningAsking(home);
    const { id, approval, fingerprint } = asked;
    expect(await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint)).toMatchObject({
      status: 0,
    });
    const DECIDED = ["approval_granted", "message_received", "message_set_aside"];
    expect(await typesIn(dispatcher, id, ...DECIDED)).toEqual(["approval_granted"]);
    expect((await dispatcher.show(id)).pending).toEqual({});
    // The same grant again, as after a kill before its file was moved away.
    const grant = (await recordsOf(dispatcher, id)).find(({ type }) => type === "approval_granted")?.data[
      "grant"
    ];
    await put(home, id, grantEnvelope(grant ?? null, "ask_again"));
    end(home, id);
    await until(() => home.hostPid(id) === undefined);
    await dispatcher.submit(id, script("true"));
    await until(
      () => dispatcher.show(id),
      ({ task, pid }) => task?.number === 2 && task.outcome !== null && pid === null,
    );
    expect(await typesIn(dispatcher, id, ...DECIDED)).toEqual(["approval_granted"]);
  });

  it("decision-2 is recorded only once when one person approves and another one denies at the same time", async () => {
    using home = new HostHome();
    const { dispatcher, asked } = await runningAsking(home);
    const { id, approval, fingerprint } = asked;
    const both = await Promise.all([
      home.cli("approve", approval, "--yes", "--fingerprint", fingerprint),
      home.cli("deny", approval),
    ]);
    expect(both.filter(({ status }) => status === 0).length).toBeGreaterThanOrEqual(1);
    expect(await typesIn(dispatcher, id, "approval_granted", "approval_denied")).toHaveLength(1);
    end(home, id);
    await until(() => home.hostPid(id) === undefined);
  });

  it("decision-3 is recorded together with its message to the agent, so a kill right after it loses neither", async () => {
    using home = new HostHome();
    const asked = await parkedAsking(home);
    const inside = await opened(home);
    const dispatcher = await home.dispatcher();
    const grant = await grantFor(inside, dispatcher, asked);
    const session = await Session.own({
      sessionDir: home.sessionDir(asked.id),
      id: asked.id as `sess_${string}`,
      io: inside.io,
    });
    await recordDecision(inside, session, {
      decision: { kind: "grant", grant: { ...grant } },
      by: "user:ani",
    });
    await session.abandon();
    expect((await recordsOf(dispatcher, asked.id)).slice(-2).map(({ type }) => type)).toEqual([
      "approval_granted",
      "message_received",
    ]);
  });

  it("decision-1 can't be given at the session's own door, not even with a grant that the operator signed", async () => {
    using home = new HostHome();
    const { dispatcher, asked } = await runningAsking(home);
    const { id, approval, fingerprint } = asked;
    const inside = await opened(home);
    await operatorKey(inside);
    const grant = { ...(await grantFor(inside, dispatcher, asked)) };
    const door = await until(() => doorOf(home, id), existsSync);
    const post = (path: string, body: object) =>
      ask(door, tokenOf(home, id), { method: "POST", path, body: JSON.stringify(body) });
    const granted = grantEnvelope(grant);
    const denied = { ...granted, kind: "deny", approval, reason: "" };
    const own = `/v1/sessions/${id}/approvals/${approval}`;
    for (const path of [`${own}/grant`, `${own}/deny`, `/v1/approvals/${approval}/grant`, "/v1/inbox"])
      for (const body of [granted, denied, grant, { fingerprint }])
        expect((await post(path, body)).status, path).toBe(404);
    for (const body of [granted, denied, { ...granted, to: id }])
      expect((await post("/v1/outbox", body)).status).toBe(400);
    // What has a text is a message, whatever else it has.
    for (const body of [granted, denied, { ...grant, by: "user:ani" }])
      expect((await post("/v1/outbox", { ...body, to: id, text: JSON.stringify(grant) })).status).toBe(202);
    await until(
      () => typesIn(dispatcher, id, "message_received"),
      (received) => received.length === 3,
    );
    expect(await typesIn(dispatcher, id, "approval_granted", "approval_denied")).toEqual([]);
    expect(Object.keys((await dispatcher.show(id)).pending)).toEqual([approval]);
    expect(wasSpent(home.dir, approval)).toBe(false);
    expect((await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint)).status).toBe(0);
    expect(await typesIn(dispatcher, id, "approval_granted")).toHaveLength(1);
    end(home, id);
    await until(() => home.hostPid(id) === undefined);
  });

  it("decision-1 has no effect if its grant is forged or altered: it is set aside, and the reason is recorded", async () => {
    using home = new HostHome();
    const { dispatcher, asked } = await runningAsking(home);
    const { id, approval, action } = asked;
    const inside = await opened(home);
    await operatorKey(inside);
    const request = (await recordsOf(dispatcher, id)).find(({ data }) => data["approval"] === approval);
    const now = Date.now();
    const terms = termsOf(action, {
      approval,
      request: { seq: request?.seq ?? 0, hash: request?.hash ?? "" },
      grantedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + 60_000).toISOString(),
    });
    const own = keyPair();
    const forged: Json[] = [
      { ...signed(own.privateKey, terms) },
      { ...terms, signature: "" },
      {
        ...terms,
        signature: Buffer.alloc(64).toString("base64"),
        publicKey: own.publicKey.export({ format: "pem", type: "spki" }),
      } as JsonObject,
      { approval, granted: true },
      "yes",
    ];
    for (const [at, grant] of forged.entries()) await put(home, id, grantEnvelope(grant, `ask_forged${at}`));
    const good = await grantFor(inside, dispatcher, asked);
    const others: Grant[] = [
      { ...good, session: "sess_01k0000000e008000000000009" },
      { ...good, expiresAt: new Date(Date.parse(good.expiresAt) + 60_000).toISOString() },
    ];
    for (const [at, grant] of others.entries())
      await put(home, id, grantEnvelope({ ...grant }, `ask_altered${at}`));
    // Nothing reads a grant in the outbox, in HOME or in TMPDIR.
    for (const dir of [
      join(outboxDir(home.sessionDir(id)), "new"),
      home.sessionDir(id, "home"),
      home.sessionDir(id, "tasks/1/tmp"),
    ]) {
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, "000000000001-ask_2"), encodeEnvelope(grantEnvelope({ ...good }, "ask_2")));
    }
    await dispatcher.send(id, "look");
    await until(
      async () =>
        (await typesIn(dispatcher, id, "message_set_aside")).length === forged.length + others.length,
    );
    end(home, id);
    await until(() => home.hostPid(id) === undefined);
    const records = await recordsOf(dispatcher, id);
    expect(records.filter(({ type }) => type === "approval_granted")).toEqual([]);
    const reasons = records
      .filter(({ type }) => type === "message_set_aside")
      .map(({ data }) => String(data["reason"]));
    expect(reasons.some((reason) => reason.includes("did not sign"))).toBe(true);
    expect((await dispatcher.show(id)).pending).toHaveProperty(approval);
  });

  it("decision-1 is refused if its grant was made for a fork's parent or in another home", async () => {
    using home = new HostHome();
    using other = new HostHome();
    const asked = await parkedAsking(home);
    const dispatcher = await home.dispatcher();
    const grant = await grantFor(await opened(home), dispatcher, asked);
    const fork = await dispatcher.holdfast.forkSession(asked.id, { atTurn: 1 });
    await fork.pause();
    await expect(decideIn(home, fork.id, { ...grant })).rejects.toMatchObject({ code: "approval_not_found" });
    const there = await parkedAsking(other);
    await operatorKey(await opened(other));
    await expect(decideIn(other, there.id, { ...grant })).rejects.toMatchObject({
      code: "approval_not_found",
    });
    await expect(decideIn(other, there.id, { ...grant, approval: there.approval })).rejects.toMatchObject({
      code: "grant_invalid",
    });
  });

  it("decision-1 is refused if its grant has expired, or if the clock was set back to before it", async () => {
    using home = new HostHome();
    const asked = await parkedAsking(home);
    const inside = await opened(home);
    const grant = await grantFor(inside, await home.dispatcher(), asked);
    for (const atMs of [Date.parse(grant.expiresAt), Date.parse(grant.grantedAt) - 3_600_000]) {
      const clock = { ...inside.io.clock, nowMs: () => atMs };
      const io = { ...inside.io, clock };
      const late = { ...inside, io };
      const run = decideIn(home, asked.id, { ...grant }, late);
      // When the clock is set back, the time of the last record is used, which is before the grant.
      await expect(run).rejects.toMatchObject({ code: "grant_invalid" });
    }
    expect(readOperatorPublicKey(home.dir).asymmetricKeyType).toBe("ed25519");
    expect(spend(home.dir, asked.approval, {})).toBe(true);
  });

  it("is no longer waited for once its task is over", async () => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await parkedAsking(home);
    expect(await home.cli("cancel", id, "task_1")).toMatchObject({ status: 0 });
    await until(() => home.hostPid(id) === undefined);
    expect((await home.cli("approvals")).stderr).toContain("nothing waits for you");
    expect(await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint)).toMatchObject({
      status: 4,
    });
  });
});

async function decideIn(home: HostHome, id: string, grant: Json, given?: Home): Promise<void> {
  const inside = given ?? (await opened(home));
  const session = await Session.own({
    sessionDir: home.sessionDir(id),
    id: id as `sess_${string}`,
    io: inside.io,
  });
  try {
    await recordDecision(inside, session, { decision: { kind: "grant", grant }, by: "user:ani" });
  } finally {
    await session.release();
  }
}
