/**
 * The API does what the library does: tasks, output, diffs, checks, artifacts, and one stream for all
 * sessions.
 */
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";
import { idIn, Served } from "../support/served.ts";

interface Event {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly session: string; readonly seq: number };
}

/** Reads a stream until it has sent this many events. */
async function events(response: IncomingMessage, count: number): Promise<Event[]> {
  expect(response.statusCode).toBe(200);
  let text = "";
  const found: Event[] = [];
  for await (const chunk of response) {
    text += String(chunk);
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
      if (fields["id"]) found.push({ ...fields, data: JSON.parse(fields["data"]) } as Event);
    }
    if (found.length >= count) break;
  }
  response.destroy();
  return found;
}

describe.runIf(hasSandbox)("the API", () => {
  it("runs a task from its start to its merge, and serves its output, diff, checks and artifacts", async () => {
    using home = new HostHome();
    commitFiles(
      home.main,
      { "holdfast.yaml": "checks: [{ name: has-file, run: test -f made }]\n" },
      "checks",
    );
    await using served = await Served.start(home);
    const post = (path: string, body: object) =>
      served.ask(path, { method: "POST", body: JSON.stringify(body) });
    const begun = await post("/v1/tasks", {
      session: { repo: home.main, title: "make it", tags: ["nightly"], metadata: { ticket: "17" } },
      task: { command: ["sh", "-c", "echo said; echo made > made"] },
    });
    expect(begun).toMatchObject({
      status: 200,
      body: { session: { tags: ["nightly"], metadata: { ticket: "17" } } },
    });
    const id = idIn(begun.body["session"] as Record<string, unknown>);
    await until(async () => {
      const { body } = await served.ask(`/v1/sessions/${id}`);
      return (body["task"] as { outcome?: string } | null)?.outcome === "done";
    });
    const output = await served.open(`/v1/sessions/${id}/output`);
    expect(Buffer.concat(await output.toArray()).toString()).toBe("said\n");
    const diff = await served.ask(`/v1/sessions/${id}/diff`);
    expect(diff.body).toMatchObject({ stat: { files: 1 }, patch: expect.stringContaining("+made") });
    const checks = await served.ask(`/v1/sessions/${id}/checks`);
    expect(checks.body).toMatchObject({ verdict: "passed", receipts: [{ check: "has-file", passed: true }] });
    const { body: left } = await served.ask(`/v1/sessions/${id}/artifacts`);
    expect(left["artifacts"]).toContainEqual(expect.objectContaining({ task: 1, name: "result.json" }));
    const result = await served.ask(`/v1/sessions/${id}/artifacts/1/result.json`);
    expect(result.body).toMatchObject({ session_id: id, result: "done" });
    expect((await served.ask(`/v1/sessions/${id}/artifacts/1/..%2f..%2fspec`)).body).toMatchObject({
      error: "artifact_not_found",
    });
    const second = await post(`/v1/sessions/${id}/tasks`, { command: ["true"], title: "again" });
    expect(second.body["request"]).toMatch(/^task_/);
    await until(async () => {
      const { body } = await served.ask(`/v1/sessions/${id}`);
      const task = body["task"] as { number?: number; outcome?: string | null } | null;
      return body["pid"] === null && task?.number === 2 && typeof task.outcome === "string";
    });
    const conversation = await served.ask(`/v1/sessions/${id}/conversation?form=anthropic`);
    const { messages } = conversation.body["conversation"] as { messages: { role: string }[] };
    expect(messages.slice(0, 3).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect((await served.ask("/v1/search?word=nowhere-at-all")).body).toEqual({ hits: [] });
    expect((await served.ask("/v1/sessions?tag=nightly")).body["sessions"]).toHaveLength(1);
    expect((await served.ask("/v1/sessions?tag=weekly")).body["sessions"]).toHaveLength(0);
    expect((await post(`/v1/sessions/${id}/merge`, {})).body).toMatchObject({
      into: "main",
      verdict: "passed",
    });
    for (const wrong of [
      {},
      { command: ["true"], prompt: "x" },
      { command: ["true"], model: "m" },
      { comand: ["true"] },
    ])
      expect(await post(`/v1/sessions/${id}/tasks`, wrong)).toMatchObject({
        status: 400,
        body: { error: "invalid_data" },
      });
  });

  it("stream-1 streams the records of all sessions on one connection, and continues after any of them", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    const post = (path: string, body: object) =>
      served.ask(path, { method: "POST", body: JSON.stringify(body) });
    // Without a cursor, the stream begins before its answer does.
    const reading = events(await served.open("/v1/events"), 6);
    const ids = [];
    for (const title of ["one", "two", "three"]) ids.push(idIn((await post("/v1/sessions", { title })).body));
    for (const id of ids) await post(`/v1/sessions/${id}/pause`, {});
    const all = await reading;
    expect(new Set(all.map(({ data }) => data.session))).toEqual(new Set(ids));
    const headers = { "last-event-id": all[1]?.id ?? "" };
    const after = await events(await served.open("/v1/events", { headers }), 6 - 2);
    expect(after.map(({ id }) => id)).toEqual(all.slice(2).map(({ id }) => id));
    expect((await served.ask("/v1/events?after=nonsense")).status).toBe(400);
    expect(
      (await served.ask("/v1/events", { headers: { "last-event-id": `${"0".repeat(16)}.1` } })).status,
    ).toBe(404);
  });
});
