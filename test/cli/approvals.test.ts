/**
 * The verbs for what waits for a person: `approvals`, `approve`, `deny` and `answer`.
 */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { askFor, askingAtRest, parkedAsking } from "../support/approvals.ts";
import { HostHome, shown, typesOf, until } from "../support/hosts.ts";
import { drive, parkingAgent, queued } from "../support/parking.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const LATER = "2126-01-01T00:00:00.000Z";

async function endedOf(home: HostHome, id: string) {
  const dispatcher = await home.dispatcher();
  return until(
    () => dispatcher.show(id),
    ({ task, pid }) => task?.outcome !== null && pid === null,
  );
}

async function recordOf(home: HostHome, id: string, type: string) {
  const records = (await home.cli("log", id, "--json")).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return records.findLast((record) => record.type === type)?.data;
}

describe("approvals and questions", () => {
  it("holdfast approvals shows who asks for what, its target, its files and its fingerprint", async () => {
    using home = new HostHome();
    await home.open();
    expect(await home.cli("approvals")).toMatchObject({
      status: 0,
      stdout: "",
      stderr: "nothing waits for you\n",
    });
    const { id, approval, fingerprint, action } = await parkedAsking(home);
    const { stdout } = await home.cli("approvals");
    for (const text of [
      approval,
      "gh_pr_create (external)",
      "fix-and-pr",
      '"title": "Mend the parser"',
      "https://api.example.org:443/pulls",
      "commit: as one commit on main",
      String(action.tree),
      "1 file changed, +1 -0",
      "runs",
      fingerprint,
      `holdfast approve ${approval}`,
    ])
      expect(stdout).toContain(text);
    expect(stdout).not.toContain("+++ b/runs");
    const one = await home.cli("approvals", approval.slice(0, 20));
    expect(one.stdout).toContain("│ +++ b/runs");
    expect(one.stdout).toContain(fingerprint);
    const [json] = JSON.parse((await home.cli("approvals", "--json")).stdout);
    expect(json).toMatchObject({
      id: approval,
      kind: "approval",
      session: id,
      fingerprint,
      isApprovable: true,
      action,
      diff: { files: 1, paths: ["runs"] },
    });
    const dispatcher = await home.dispatcher();
    expect(await dispatcher.show(id)).toMatchObject({ standing: "waiting for you", why: "approval" });
    expect((await home.cli("show", id)).stdout).toContain("holdfast approvals");
    expect((await home.cli("log", id)).stdout).toContain(`needs approval gh_pr_create (${approval})`);
  });

  it("a request whose diff is too large to show is listed with the others, and can't be approved", async () => {
    using home = new HostHome();
    const { id, approval } = await parkedAsking(home);
    const base = gitIn(home.main, "rev-parse", "HEAD");
    const many = Array.from(
      { length: 400_000 },
      (_, line) => `${line} is one of the many lines of this file\n`,
    );
    const commit = commitFiles(home.main, { "huge.txt": many.join("") }, "huge");
    const tree = gitIn(home.main, "rev-parse", `${commit}^{tree}`);
    const session = await (await home.open()).openSession({ repo: home.main, title: "huge" });
    const huge = await askFor(home, session, { tree }, { base });
    await session.pause();
    const { stdout } = await home.cli("approvals");
    expect(stdout).toContain(approval);
    expect(stdout).toContain("1 file changed, +1 -0");
    expect(stdout).toContain("too large to show: 1 file");
    const asked = JSON.parse((await home.cli("approvals", "--json")).stdout);
    expect(asked).toMatchObject([
      { session: id, isApprovable: true },
      { id: huge.approval, isApprovable: false, diff: { isTooLarge: true, files: 1 } },
    ]);
    const { status, stderr } = await home.cli(
      "approve",
      huge.approval,
      "--yes",
      "--fingerprint",
      huge.fingerprint,
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain("too many to be shown (1 file)");
  });

  it("approve --yes --fingerprint grants an approval once, tells the agent, and the parked task goes on", async () => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await parkedAsking(home);
    const granted = await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint.slice(0, 8));
    expect(granted).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(": once, within ten minutes"),
      stderr: expect.stringContaining("continues"),
    });
    expect((await endedOf(home, id)).task).toMatchObject({ outcome: "unverified" });
    const data = await recordOf(home, id, "approval_granted");
    expect(data).toMatchObject({
      approval,
      by: expect.stringMatching(/^user:/),
      grant: { approval, session: id, fingerprint, version: 1 },
    });
    expect(Date.parse(data.expiresAt) - Date.parse(data.grant.grantedAt)).toBe(600_000);
    const message = await recordOf(home, id, "message_received");
    expect(message.text).toBe(
      `Approval ${approval} of gh_pr_create was granted by ${data.by}: make the same call again within ten minutes.`,
    );
    expect(
      (await typesOf(await home.dispatcher(), id)).filter((type) => type === "task_unparked"),
    ).toHaveLength(1);
    expect(await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("approval_not_found"),
    });
    expect((await home.cli("log", id)).stdout).toContain(`granted by ${data.by} ${approval}`);
  });

  it("deny tells the agent the reason, and the parked task goes on", async () => {
    using home = new HostHome();
    const { id, approval } = await parkedAsking(home);
    expect(await home.cli("deny", approval, "--why", "push to a branch of your own", "--json")).toMatchObject(
      { status: 0 },
    );
    await endedOf(home, id);
    expect(await recordOf(home, id, "approval_denied")).toMatchObject({
      approval,
      reason: "push to a branch of your own",
    });
    expect((await recordOf(home, id, "message_received")).text).toMatch(
      new RegExp(
        `^Approval ${approval} of gh_pr_create was denied by user:.*: push to a branch of your own$`,
      ),
    );
    expect(existsSync(`${home.dir}/operator`)).toBe(false);
  });

  it("answer gives the agent the answer to its question, and the parked task goes on", async () => {
    using home = new HostHome();
    const session = await queued(home);
    await drive(home, session, parkingAgent({ reason: "answer", detail: "which one?" }));
    await session.append("question_asked", { question: "ques_1", text: "Which one?\u001b[2J", task: 1 });
    await session.pause("idle");
    const listed = (await home.cli("approvals")).stdout;
    expect(listed).toContain("Which one?\\u{1b}[2J");
    expect(listed).toContain("holdfast answer ques_1 TEXT");
    expect(await home.cli("answer", "ques_1", "the", "second")).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("continues"),
    });
    await endedOf(home, session.id);
    expect(await recordOf(home, session.id, "question_answered")).toMatchObject({
      question: "ques_1",
      text: "the second",
    });
    expect((await recordOf(home, session.id, "message_received")).text).toContain("the second");
  });

  it("a task with two open approvals goes on after the first decision and is parked for the second", async () => {
    using home = new HostHome();
    const session = await queued(home);
    await drive(home, session, parkingAgent({ reason: "approval" }));
    const one = await askFor(home, session);
    const two = await askFor(home, session, { tool: "git_push" });
    await session.pause("idle");
    expect(await home.cli("deny", one.approval)).toMatchObject({
      stderr: expect.stringContaining("continues"),
    });
    const dispatcher = await home.dispatcher();
    await shown(
      dispatcher,
      session.id,
      ({ task, turns, pid }) => turns === 2 && pid === null && task?.parked?.detail === two.approval,
    );
    expect(await home.cli("deny", two.approval)).toMatchObject({
      stderr: expect.stringContaining("continues"),
    });
    await endedOf(home, session.id);
  });

  it("a grant starts no process for a paused session without a task, and its message waits in the inbox", async () => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await askingAtRest(home);
    expect(
      await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint, "--json"),
    ).toMatchObject({ status: 0, stdout: expect.stringContaining('"process":null') });
    const dispatcher = await home.dispatcher();
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", unread: 1, pending: {} });
  });

  it.each([
    ["of another action", () => "0".repeat(64)],
    ["that is too short", (fingerprint: string) => fingerprint.slice(0, 7)],
    ["with an extra character", (fingerprint: string) => `${fingerprint}0`],
    ["that is empty", () => ""],
  ])("approve refuses a fingerprint %s and records nothing", async (_, given) => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await askingAtRest(home);
    const before = await typesOf(await home.dispatcher(), id);
    expect(await home.cli("approve", approval, "--yes", "--fingerprint", given(fingerprint))).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("grant_invalid"),
    });
    expect(await typesOf(await home.dispatcher(), id)).toEqual(before);
  });

  it("approve refuses --yes alone, a missing terminal, an ambiguous id prefix and an unknown id", async () => {
    using home = new HostHome();
    const { approval } = await askingAtRest(home);
    await askingAtRest(home);
    expect(await home.cli("approve", approval, "--yes")).toMatchObject({ status: 2 });
    expect(await home.cli("approve", approval)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("terminal_missing"),
    });
    expect(await home.cli("approve", approval.slice(0, 7))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("ambiguous_id"),
    });
    expect(await home.cli("approve", "appr_zzz")).toMatchObject({ status: 4 });
  });

  it.each<[string, Parameters<typeof askingAtRest>[1], Parameters<typeof askingAtRest>[2]]>([
    ["whose record has an invalid action", {}, { action: { not: "an action" } }],
    ["without an action", {}, { action: null }],
    ["of another session", { session: "sess_01k0000000e008000000000009" }, {}],
    ["of another home", { home: "home_01k0000000e008000000000009" }, {}],
    ["of another user", { user: "mallory" }, {}],
    ["with another fingerprint", {}, { fingerprint: "0".repeat(64) }],
    ["on a tree that does not exist", { tree: "1".repeat(40) }, {}],
    ["whose record shows another tree", {}, { tree: "1".repeat(40) }],
    ["with a secret argument, which is not on record", { args: { key: `ghp_${"a1B2".repeat(9)}` } }, {}],
  ])("request-1 a request %s is listed and can't be approved", async (_, changed, more) => {
    using home = new HostHome();
    const { id, approval, fingerprint } = await askingAtRest(home, changed, more);
    expect((await home.cli("approvals")).stdout).toContain(approval);
    const given = more?.fingerprint ?? fingerprint;
    expect(await home.cli("approve", approval, "--yes", "--fingerprint", given)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("grant_invalid"),
    });
    expect(await typesOf(await home.dispatcher(), id)).not.toContain("approval_granted");
  });

  it("request-1 a request that has expired can't be approved, even if all of it can be shown", async () => {
    using home = new HostHome();
    const { approval, fingerprint } = await askingAtRest(home, {}, { expiresAt: "2026-01-01T00:00:00.000Z" });
    expect((await home.cli("approve", approval, "--yes", "--fingerprint", fingerprint)).status).not.toBe(0);
    const later = await askingAtRest(home, {}, { expiresAt: LATER });
    expect(
      (await home.cli("approve", later.approval, "--yes", "--fingerprint", later.fingerprint)).status,
    ).toBe(0);
  });
});
