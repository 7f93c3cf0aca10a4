/**
 * What the API answers has the forms that the OpenAPI document describes, and a URL can ask only for what a route has.
 */
import { describe, expect, it } from "vitest";
import { findRoute } from "../../src/http/index.ts";
import { EventStreams } from "../../src/server/events.ts";
import { routesOf } from "../../src/server/routes.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";
import { idIn, Served } from "../support/served.ts";

/** Asks, and compares the answer with the form of its route. */
async function asker(home: HostHome, served: Served) {
  const dispatcher = (await home.dispatcher()) as unknown as Parameters<typeof routesOf>[0];
  const signal = AbortSignal.abort();
  const streams = new EventStreams(dispatcher.home.io.clock, signal);
  const routes = routesOf(dispatcher, streams, { signal, say: () => {} });
  const asked = new Set<string>();
  const ask = async (method: "GET" | "POST", path: string, body?: object) => {
    const { route } = findRoute(routes, method, path.split("?")[0] ?? "") ?? {};
    const answer = await served.ask(path, { method, ...(body && { body: JSON.stringify(body) }) });
    expect(answer, `${method} ${path}`).toMatchObject({ status: 200 });
    if (route && typeof route.gives === "object") {
      expect(route.gives.safeParse(answer.body).error?.issues ?? [], `${method} ${path}`).toEqual([]);
      asked.add(`${method} ${route.path}`);
    }
    return answer.body;
  };
  const left = () =>
    routes
      .filter(({ gives }) => typeof gives === "object")
      .map(({ method, path }) => `${method} ${path}`)
      .filter((one) => !asked.has(one));
  return { ask, left };
}

describe.runIf(hasSandbox)("the answers of the API", () => {
  it("have the forms that the OpenAPI document describes", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "checks: [{ name: made, run: test -f made }]\n" }, "checks");
    await using served = await Served.start(home);
    const { ask, left } = await asker(home, served);
    const opening = { repo: home.main, title: "forms", budget: { turns: 9 }, metadata: { ticket: "17" } };
    const begun = await ask("POST", "/v1/tasks", {
      session: opening,
      task: { command: ["sh", "-c", "echo made > made"] },
    });
    const id = idIn(begun["session"] as Record<string, unknown>);
    const at = (rest: string) => `/v1/sessions/${id}${rest}`;
    const atRest = async () => {
      const { pid, task } = await ask("GET", at(""));
      return pid === null && typeof (task as { outcome?: string | null } | null)?.outcome === "string";
    };
    await until(atRest);
    for (const path of ["", "/turns", "/usage", "/diff", "/checks", "/artifacts", "/queue", "/requests"])
      await ask("GET", at(path));
    for (const form of ["plain", "anthropic", "openai", "ai-sdk"])
      await ask("GET", at(`/conversation?form=${form}`));
    await ask("GET", at("/audit?deep=true"));
    for (const path of [
      "/v1/requests",
      "/v1/conflicts",
      "/v1/limits",
      "/v1/search?word=made",
      "/v1/openapi.json",
    ])
      await ask("GET", path);
    expect(await ask("POST", "/v1/limits", { maxSessions: 7 })).toMatchObject({ maxSessions: 7 });
    expect(await ask("POST", at("/keep"), { isKept: true })).toMatchObject({ isKept: true });
    expect(await ask("POST", at("/budget"), { turns: 3 })).toMatchObject({ budget: { turns: 12 } });
    await ask("POST", at("/messages"), { text: "hello" });
    await ask("POST", at("/branch"));
    await ask("POST", at("/rebase"));
    await ask("POST", at("/teardown"));
    await ask("POST", at("/restore"));
    const { directory } = await ask("POST", at("/handoff"), { to: "bo", directory: home.join("theirs") });
    expect(directory).toBe(home.join("theirs"));
    await ask("POST", at("/takeback"), { unchanged: true });
    await ask("POST", at("/merge"));
    await ask("POST", at("/rewind"), { toTurn: 1 });
    await ask("POST", at("/fork"), { atTurn: 0, name: "forked" });
    const { request } = await ask("POST", at("/tasks"), { command: ["sleep", "60"] });
    await until(async () => ((await ask("GET", at("/queue")))["current"] as { task?: number })?.task === 2);
    await until(async () => (await ask("GET", at("")))["status"] === "running");
    await ask("POST", at("/interrupt"));
    await until(atRest);
    const other = await ask("POST", at("/tasks"), { command: ["sleep", "60"] });
    expect(other["request"]).not.toBe(request);
    await ask("POST", at("/cancel"), { request: other["request"] });
    for (const move of ["/pause", "/resume", "/close", "/archive"]) await ask("POST", at(move));
    const opened = await ask("POST", "/v1/sessions", { title: "other" });
    for (const [query, ids] of [
      ["standing=archived", [id]],
      ["standing=archived&standing=new&metadata=ticket%3D17", [id]],
      ["metadata=ticket%3D18", []],
      ["standing=new", [idIn(opened)]],
    ] as const) {
      const { sessions } = await ask("GET", `/v1/sessions?${query}`);
      const found = (sessions as Record<string, unknown>[])
        .map(idIn)
        .filter((one) => [id, idIn(opened)].includes(one));
      expect(found, query).toEqual(ids);
    }
    // These need a person's decision: deciding.test.ts has them.
    expect(left()).toEqual([
      "POST /v1/sessions/:id/approvals/:approval/grant",
      "POST /v1/sessions/:id/approvals/:approval/deny",
      "POST /v1/sessions/:id/questions/:question/answer",
    ]);
  });
});

describe("a URL of the API", () => {
  it("can ask only for what its path has, and the error names what that is", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    for (const [path, message] of [
      [
        "/v1/sessions?tags=x",
        "tags: this path has no such query; it has standing, tag, metadata, agent, repo",
      ],
      ["/v1/requests?user=bo", "user: this path has no query"],
      ["/v1/sessions?agent=a&agent=b", "agent: give it once"],
      ["/v1/sessions?standing=busy", "standing: one of new, queued"],
      ["/v1/sessions?metadata=ticket", "metadata: NAME=TEXT is needed"],
      ["/v1/search?word=x&limit=many", "limit: a whole number above 0 is needed"],
    ] as const)
      expect(await served.ask(path), path).toMatchObject({
        status: 400,
        body: { error: "invalid_data", message: expect.stringContaining(message) },
      });
    for (const [path, body, field] of [
      ["/v1/sessions", { repo: "main" }, "repo"],
      ["/v1/tasks", { session: { repo: "." }, task: { command: ["true"] } }, "session.repo"],
    ] as const)
      expect(await served.ask(path, { method: "POST", body: JSON.stringify(body) }), path).toMatchObject({
        status: 400,
        body: { error: "invalid_data", message: `${field}: an absolute path is needed` },
      });
    expect((await served.ask("/v1/sessions?repo=main")).status).toBe(400);
    const { body: opened } = await served.ask("/v1/sessions", { method: "POST", body: "{}" });
    for (const [path, body] of [
      ["handoff", { to: "bo", directory: "theirs" }],
      ["takeback", { directory: "theirs" }],
    ] as const)
      expect(
        await served.ask(`/v1/sessions/${idIn(opened)}/${path}`, {
          method: "POST",
          body: JSON.stringify(body),
        }),
      ).toMatchObject({ status: 400, body: { message: "directory: an absolute path is needed" } });
    const wrong = await served.ask("/v1/sessions?force=true", { method: "POST", body: "{}" });
    expect(wrong).toMatchObject({ status: 400, body: { message: "force: this path has no query" } });
  });
});
