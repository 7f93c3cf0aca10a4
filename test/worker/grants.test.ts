/**
 * What permits an action: the operator's grant for exactly this action, once for the whole home. Any other
 * grant does nothing and spends nothing.
 */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { wasSpent } from "../../src/approval/index.ts";
import type { Grant } from "../../src/contract/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { outcomeOf } from "../../src/worker/index.ts";
import { ActingHome, besideHome, MINUTE_MS, quiet } from "../support/acting.ts";
import { HeldServer } from "../support/held-server.ts";
import { gitIn } from "../support/repo.ts";

const at = (ms: number) => new Date(ms).toISOString();

describe("a grant at the worker", () => {
  it("worker-5 permits exactly the action that it is for, once", async () => {
    await using home = new ActingHome();
    const bare = besideHome(home, "bare.git");
    gitIn(home.main, "clone", "-q", "--bare", home.main, bare);
    gitIn(home.main, "remote", "add", "origin", bare);
    await home.begin("");
    const { prepared, action } = await home.prepare("git_push", { branch: "work" });
    const grant = await home.grant(action);
    const { signature: _, ...terms } = grant;
    const nowMs = home.place.home.io.clock.nowMs();
    const other = await home.grant({ ...action, args: { branch: "other" } });
    const stranger = generateKeyPairSync("ed25519").privateKey;
    const wrong: Record<string, Grant | null> = {
      none: null,
      forged: home.signed(terms, stranger),
      "cut off": { ...grant, signature: grant.signature.slice(0, 40) },
      altered: { ...grant, fingerprint: "0".repeat(64) },
      "for another action": other,
      "for another action, under this request": home.signed({ ...terms, fingerprint: other.fingerprint }),
      "of another record": home.signed({
        ...terms,
        request: { seq: terms.request.seq + 1, hash: terms.request.hash },
      }),
      "of another session": home.signed({ ...terms, session: "sess_01k00000000000000000000000" }),
      "of another home": home.signed({ ...terms, home: "home_01k00000000000000000000000" }),
      expired: home.signed({
        ...terms,
        grantedAt: at(nowMs - 9 * MINUTE_MS),
        expiresAt: at(nowMs - MINUTE_MS),
      }),
      "without end": home.signed({ ...terms, expiresAt: at(nowMs + 60 * MINUTE_MS) }),
      "asked for nowhere": home.signed({ ...terms, approval: "appr_01k00000000000000000000000" }),
    };
    for (const [what, one] of Object.entries(wrong)) {
      const outcome = await prepared.act(one, quiet());
      expect(outcome, what).toMatchObject({ outcome: "refused", facts: { code: "grant_invalid" } });
      if (one) expect(wasSpent(home.dir, one.approval), what).toBe(false);
      expect(gitIn(bare, "branch", "--list", "work", "other"), what).toBe("");
    }
    expect(outcomeOf(home.task.room.sessionDir, 1, grant.approval)).toEqual({ kind: "not_begun" });
    const done = await prepared.act(grant, quiet());
    expect(done.outcome).toBe("ok");
    gitIn(bare, "branch", "-D", "work");
    // A second attempt with the same grant.
    const again = await prepared.act(grant, quiet());
    expect(again).toMatchObject({ outcome: "refused", text: expect.stringContaining("already spent") });
    expect(gitIn(bare, "branch", "--list", "work")).toBe("");
    expect(outcomeOf(home.task.room.sessionDir, 1, grant.approval)).toEqual({ kind: "ended", outcome: done });
  });

  it("worker-5 lets one of three workers act that have it at the same time", async () => {
    await using home = new ActingHome();
    await using server = await HeldServer.start();
    await home.begin(`tools: { http_request: { hosts: ["localhost:${server.port}"] } }\n`);
    const { prepared, action } = await home.prepare("http_request", {
      method: "POST",
      url: server.url,
      body: "once",
    });
    const grant = await home.grant(action);
    server.letGo();
    const outcomes = await Promise.all([1, 2, 3].map(() => prepared.act(grant, quiet())));
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["ok", "refused", "refused"]);
    expect(server.heard).toHaveLength(1);
  });

  it.each([
    [2, "ok"],
    [6, "refused"],
  ])(
    "worker-5 is as old as the last record, if the clock was set back by %i minutes: %s",
    async (minutes, outcome) => {
      await using home = new ActingHome();
      await using server = await HeldServer.start();
      server.letGo();
      const before = { ...systemClock, nowMs: () => systemClock.nowMs() + minutes * MINUTE_MS };
      await home.begin(`tools: { http_request: { hosts: ["localhost:${server.port}"] } }\n`, "true", before);
      const { prepared, action } = await home.prepare("http_request", { method: "GET", url: server.url });
      const grant = await home.grant(action);
      // By the clock alone, it is valid for five minutes.
      expect(await prepared.act(grant, quiet())).toMatchObject({ outcome });
      expect(wasSpent(home.dir, grant.approval)).toBe(outcome === "ok");
      expect(server.heard).toHaveLength(outcome === "ok" ? 1 : 0);
    },
  );

  it("worker-5 is not needed in a lane that asks no person", async () => {
    await using home = new ActingHome();
    await using server = await HeldServer.start();
    server.letGo();
    await home.begin(
      `lane: free\nlanes: { free: { approval: [], write: ["*"], external: ["*"] } }\ntools: { http_request: { hosts: ["localhost:${server.port}"] } }\n`,
    );
    const { prepared } = await home.prepare("http_request", { method: "GET", url: server.url });
    expect(await prepared.act(null, quiet())).toMatchObject({ outcome: "ok" });
    expect(server.heard).toHaveLength(1);
  });
});
