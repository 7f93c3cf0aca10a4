/**
 * Faults of the scripted model: each happens as often as its step says, and then the model gives the step.
 */
import { describe, expect, it } from "vitest";
import { type ScriptedModel, type Scripts, startScriptedModel } from "../../src/testing/index.ts";
import { ask, type Client, clients, post } from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

const { tools } = offers.claude;
/** Its last character can only be in its last delta. */
const call = { bash: { command: "a command that is long enough to come in more than one delta ☂" } };

const asking = (script: string, isStreamed = true) => ({
  entries: [{ user: `[[${script}]]` }],
  tools,
  isStreamed,
});

async function withModel(
  scripts: Scripts,
  look: (url: string, client: Client, model: ScriptedModel) => Promise<void>,
) {
  for (const client of clients) {
    await using model = await startScriptedModel({ scripts });
    await look(model.url, client, model);
  }
}

/** As much of the body as arrived. */
async function received({ body }: Response): Promise<{ readonly text: string; readonly isCut: boolean }> {
  let text = "";
  try {
    for await (const piece of body ?? []) text += Buffer.from(piece).toString();
    return { text, isCut: false };
  } catch {
    return { text, isCut: true };
  }
}

async function asked(model: ScriptedModel): Promise<void> {
  while (model.requests.length === 0) await new Promise(setImmediate);
}

describe("faults", () => {
  it("an error has its status, its headers and the API's own form, as many times as its step says", () =>
    withModel(
      { busy: [{ say: "at last", fault: "error", status: 429, headers: { "retry-after": "7" }, times: 2 }] },
      async (url, client) => {
        for (let time = 1; time <= 2; time += 1) {
          const response = await post(url, client, asking("busy"));
          expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
          expect(await response.text()).toMatch(/rate_limit_error|rate_limit_exceeded|RESOURCE_EXHAUSTED/);
        }
        expect((await ask(url, client, asking("busy"))).text).toBe("at last");
      },
    ));

  it("an error can have a body of its own", () =>
    withModel(
      { own: [{ say: "later", fault: "error", status: 429, body: { error: { details: ["in 7 s"] } } }] },
      async (url, client) => {
        const response = await post(url, client, asking("own"));
        expect(await response.json()).toEqual({ error: { details: ["in 7 s"] } });
      },
    ));

  it("a fault happens once by default, or always if its step says so", () =>
    withModel(
      {
        once: [{ say: "here", fault: "error", status: 500 }],
        always: [{ say: "never", fault: "error", status: 401, times: "always" }],
      },
      async (url, client) => {
        const status = async (script: string) => (await post(url, client, asking(script))).status;
        expect([await status("once"), await status("once")]).toEqual([500, 200]);
        expect([await status("always"), await status("always"), await status("always")]).toEqual([
          401, 401, 401,
        ]);
      },
    ));

  it("a dropped or malformed answer begins, but contains no whole call", () =>
    withModel(
      { drop: [{ call, fault: "drop" }], malformed: [{ call, fault: "malformed" }] },
      async (url, client) => {
        for (const isStreamed of [true, false]) {
          for (const script of ["drop", "malformed"]) {
            const entries = [{ user: `[[${script}]] ${isStreamed}` }];
            const response = await post(url, client, { ...asking(script, isStreamed), entries });
            expect(response.status).toBe(200);
            const { text, isCut } = await received(response);
            expect(isCut).toBe(script === "drop");
            expect(text).not.toBe("");
            expect(text).not.toContain("☂");
            const { calls } = await ask(url, client, { ...asking(script, isStreamed), entries });
            expect(calls.map(({ args }) => args)).toEqual([call.bash]);
          }
        }
      },
    ));

  it("a hanging answer says nothing until the client gives up, and holds up no other request", () =>
    withModel({ hang: [{ say: "after all", fault: "hang" }] }, async (url, client, model) => {
      const gone = new AbortController();
      const hanging = fetch(`${url}${client.path(true)}`, {
        method: "POST",
        body: JSON.stringify(client.body(asking("hang"))),
        signal: gone.signal,
      });
      await asked(model);
      const other = ask(url, client, { ...asking("hang"), entries: [{ user: "hello" }] });
      expect(await Promise.race([hanging, other])).toMatchObject({ text: "ANSWER-1" });
      gone.abort();
      await expect(hanging).rejects.toThrow("aborted");
      expect((await ask(url, client, asking("hang"))).text).toBe("after all");
    }));

  it("a fault is counted separately for each text that chose the script", () =>
    withModel(
      { once: [{ say: "piece by piece", fault: "error", status: 529, pieces: 9, delayMs: 1 }] },
      async (url, client) => {
        for (const words of ["one", "another"]) {
          const choosing = { ...asking("once"), entries: [{ user: `[[once]] ${words}` }] };
          expect((await post(url, client, choosing)).status).toBe(529);
          expect((await ask(url, client, choosing)).text).toBe("piece by piece");
        }
      },
    ));

  it("a hanging request ends when the model is closed", async () => {
    const [client] = clients as [Client];
    const model = await startScriptedModel({ scripts: { hang: [{ say: "never", fault: "hang" }] } });
    const hanging = post(model.url, client, asking("hang")).catch(() => "ended");
    await asked(model);
    await model[Symbol.asyncDispose]();
    expect(await hanging).toBe("ended");
  });
});
