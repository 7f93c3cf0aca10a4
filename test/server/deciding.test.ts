/**
 * What a person decides over the API and over the library: it is recorded for exactly the request that it names, and only
 * for the user's own sessions.
 */
import { describe, expect, it } from "vitest";
import { askFor, askingAtRest } from "../support/approvals.ts";
import { HostHome } from "../support/hosts.ts";
import { openHoldfast } from "../support/library.ts";
import { Served } from "../support/served.ts";

const DECIDED = /^(approval_granted|approval_denied|question_answered)$/;

async function decided(home: HostHome, id: string) {
  const hf = await openHoldfast({ home: home.dir });
  const records = await Array.fromAsync(hf.readJournal(id));
  return records.filter(({ type }) => DECIDED.test(type)).map(({ type, data }) => ({ type, ...data }));
}

/** A session at rest with a question that waits. */
async function questionAtRest(home: HostHome): Promise<{ id: string; question: string }> {
  const session = await (await home.open()).openSession({ repo: home.main, title: "asks" });
  const question = "ask_one";
  await session.append("question_asked", { question, text: "which?" });
  await session.pause();
  return { id: session.id, question };
}

const poster = (served: Served, id: string) => (path: string, body: object) =>
  served.ask(`/v1/sessions/${id}/${path}`, { method: "POST", body: JSON.stringify(body) });

describe("a decision over the API", () => {
  it("grants the approval whose whole fingerprint it names, and no other", async () => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await askingAtRest(home);
    await using served = await Served.start(home);
    const { body } = await served.ask("/v1/requests");
    expect(body["requests"]).toMatchObject([{ kind: "approval", id: approval, data: { fingerprint } }]);
    const post = poster(served, id);
    const wrong = [fingerprint.slice(0, -1), `${fingerprint.slice(0, -1)}_`, "0".repeat(64)];
    for (const named of wrong)
      expect(await post(`approvals/${approval}/grant`, { fingerprint: named }), named).toMatchObject({
        body: { error: "grant_invalid" },
      });
    expect(await post("approvals/appr_other/grant", { fingerprint })).toMatchObject({
      ...{ status: 404, body: { error: "approval_not_found" } },
    });
    expect((await post(`approvals/${approval}/grant`, {})).status).toBe(400);
    expect(await decided(home, id)).toEqual([]);
    expect(await post(`approvals/${approval}/grant`, { fingerprint })).toMatchObject({
      ...{ status: 200, body: { id, pending: {} } },
    });
    expect(await decided(home, id)).toMatchObject([
      { type: "approval_granted", approval, grant: { fingerprint } },
    ]);
    expect((await served.ask(`/v1/sessions/${id}/requests`)).body).toEqual({ requests: [] });
  });

  it("denies an approval and answers a question, and the agent's side has the words", async () => {
    using home = new HostHome();
    const { id, approval } = await askingAtRest(home);
    const asking = await questionAtRest(home);
    await using served = await Served.start(home);
    const denied = await poster(served, id)(`approvals/${approval}/deny`, { reason: "not today" });
    expect(denied).toMatchObject({ status: 200, body: { id, pending: {} } });
    expect(await decided(home, id)).toMatchObject([
      { type: "approval_denied", approval, reason: "not today" },
    ]);
    const post = poster(served, asking.id);
    expect(await post("questions/ask_other/answer", { text: "this" })).toMatchObject({ status: 404 });
    const answered = await post(`questions/${asking.question}/answer`, { text: "this one" });
    expect(answered).toMatchObject({ status: 200, body: { id: asking.id, pending: {} } });
    expect(await decided(home, asking.id)).toMatchObject([
      { type: "question_answered", question: asking.question, text: "this one" },
    ]);
  });

  it("server-1 about a session of another user is answered as if there were none", async () => {
    using home = new HostHome();
    const own = await (await home.open()).openSession({ user: "somebody-else", title: "theirs" });
    const { id, approval, fingerprint } = await askFor(home, own, { tree: null });
    await own.append("question_asked", { question: "ask_one", text: "which?" });
    await own.pause();
    await using served = await Served.start(home);
    const post = poster(served, id);
    for (const [path, body] of [
      [`approvals/${approval}/grant`, { fingerprint }],
      [`approvals/${approval}/deny`, { reason: "no" }],
      ["questions/ask_one/answer", { text: "this" }],
    ] as const)
      expect(await post(path, body), path).toMatchObject({
        status: 404,
        body: { error: "session_not_found" },
      });
    expect((await served.ask("/v1/requests")).body).toEqual({ requests: [] });
    const hf = await openHoldfast({ home: home.dir, user: "somebody-else" });
    expect(await hf.requests()).toHaveLength(2);
  });
});

describe("a decision over the library", () => {
  it("denies an approval and answers a question of the session that the handle names", async () => {
    using home = new HostHome();
    const { id, approval } = await askingAtRest(home);
    const asking = await questionAtRest(home);
    const hf = await openHoldfast({ home: home.dir });
    expect((await hf.requests()).map(({ kind, session }) => [kind, session])).toEqual([
      ["approval", id],
      ["question", asking.id],
    ]);
    const [one, other] = [await hf.session(id), await hf.session(asking.id)];
    await expect(other.deny(approval, "no")).rejects.toMatchObject({ code: "approval_not_found" });
    await one.deny(approval, "not today");
    await other.answer(asking.question, "this one");
    expect(await hf.requests()).toEqual([]);
    expect(await decided(home, id)).toMatchObject([{ type: "approval_denied", reason: "not today" }]);
    expect(await decided(home, asking.id)).toMatchObject([{ type: "question_answered", text: "this one" }]);
  });
});
