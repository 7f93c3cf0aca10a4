/**
 * What a program reaches from what the library gives it: at run time, and by the published types. Nothing internal is
 * among it, and only Holdfast writes the events that it owns.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventForms } from "../../src/contract/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { LibraryHome } from "../support/library.ts";

const dist = join(import.meta.dirname, "..", "..", "dist");

describe("what the library gives", () => {
  it.runIf(hasSandbox)("has no property that is internal", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using own = await hf.openSession({ repo: home.main, title: "t" });
    const handle = await hf.session(own.id);
    const task = await own.startTask();
    await using turn = await own.beginTurn("try it");
    const call = await turn.callTool("read", {});
    const work = task.workplace();
    const found = { hf, own, handle, task, work, turn, call };
    const names = Object.entries(found).map(([name, of]) => [name, Reflect.ownKeys(of)]);
    expect(Object.fromEntries(names)).toEqual({
      ...{
        hf: [],
        own: [],
        handle: ["id"],
        task: [],
        work: ["stop", "messages"],
        turn: ["number"],
        call: ["id", "tool"],
      },
    });
    for (const of of [hf, own, handle, task, turn, call])
      for (let at = of; at !== Object.prototype; at = Object.getPrototypeOf(at))
        for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
          if (get) expect(["string", "number"], name).toContain(typeof (Reflect.get(of, name) ?? ""));
    const ended = await (async () => {
      await call.returned("");
      await turn.end();
      return task.end("done");
    })();
    expect(Object.keys(ended).sort()).toEqual(
      ["branch", "outcome", "patch", "stat", "task", "tree", "unpublished"].sort(),
    );
    await own.pause();
    expect(Object.keys(await handle.diff()).sort()).toEqual(["base", "patch", "stat", "tree"]);
    expect(Object.keys(await handle.queue()).sort()).toEqual(["current", "waiting"]);
    const tornDown = await handle.teardown();
    expect(Object.keys(tornDown).sort()).toEqual(["freedBytes", "omitted", "ports", "snapshot", "task"]);
  });

  it("has types that name no dispatcher, and constructors that no program can use", () => {
    for (const name of ["session", "session-work", "owned-session", "own-task"]) {
      const types = readFileSync(join(dist, "face", `${name}.d.ts`), "utf8");
      expect(types, name).not.toMatch(/Dispatcher|constructor\(/);
    }
  });

  it("lets a harness append only its own events", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using own = await hf.openSession();
    await own.append("custom", { name: "acme.step" });
    await own.append("fact_remembered", { fact: "f1", text: "it is blue" });
    await own.append("context_compacted", { tokensBefore: 10, tokensAfter: 2, summary: "short" });
    const own_ = ["context_compacted", "custom", "fact_remembered", "fact_revoked", "task_planned"];
    for (const type of [...Object.keys(eventForms).filter((one) => !own_.includes(one)), "no_event"])
      await expect(own.append(type as "custom", { name: "x" }), type).rejects.toMatchObject({
        code: "event_reserved",
        message: expect.stringContaining(type),
      });
    expect((await (await hf.session(own.id)).view()).records).toBe(4);
  });
});
