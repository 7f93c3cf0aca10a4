/**
 * A hostile agent at its own model route: what it sends reaches only models, is metered, and fills no memory.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const ATTACK = readFileSync(join(import.meta.dirname, "..", "fixtures", "agents", "attack.mjs"));

async function attacked(way: string) {
  const home = await AgentHome.start({
    work: [{ call: { bash: { command: `node attack.mjs ${way}` } } }, { say: "Done." }],
  });
  writeFileSync(join(home.main, "attack.mjs"), ATTACK);
  gitIn(home.main, "add", "-A");
  gitIn(home.main, "commit", "-qm", "an attack");
  const { status, stderr } = await home.run("attacker", "[[work]]", ...wall);
  expect(status, stderr).toBe(0);
  const records = (await home.records("attacker")).map(({ type, data }) => ({ type, data }));
  const [returned] = records.filter(({ type }) => type === "tool_returned");
  const said = String(returned?.data["output"]).split("\n").filter(Boolean);
  const metered = records.filter(({ type }) => type === "usage_metered").map(({ data }) => data);
  return { home, said, metered };
}

const isSmuggled = ({ body }: { readonly body: string }) => body.includes("SMUGGLED");

describe("a hostile agent at its model route", () => {
  it("reaches only the paths of models, and no other host", async () => {
    const { home, said } = await attacked("paths");
    await using _ = home;
    expect(said).toHaveLength(13);
    for (const line of said) expect(line).toMatch(/ (40[0-9]|closed)$/);
    expect(home.model.requests.filter(isSmuggled)).toEqual([]);
  });

  it("can't change the key, the method or the host of a request by its own headers", async () => {
    const { home, said } = await attacked("headers");
    await using _ = home;
    // The control: most of them are forwarded like any other request, without what the agent added.
    expect(said.filter((line) => line.endsWith(" 200")).length).toBeGreaterThan(4);
    expect(said.slice(0, 2)).toEqual(["two lengths 400", "length and pieces 400"]);
    const smuggled = home.model.requests.filter(isSmuggled);
    expect(smuggled.length).toBeGreaterThan(4);
    for (const { method, headers } of smuggled) {
      expect([method, headers["x-api-key"], headers["host"]]).toEqual([
        "POST",
        PLANTED_KEY,
        new URL(home.model.url).host,
      ]);
      expect(JSON.stringify(headers)).not.toMatch(/mine|evil|DELETE|upgrade|holdfast/i);
    }
  });

  it("is metered by an estimate if it hangs up before the answer reports its tokens, whatever its query says", async () => {
    const { home, said, metered } = await attacked("unmetered");
    await using _ = home;
    expect(said).toHaveLength(4);
    for (const line of said) expect(line).toMatch(/^unmetered .*200$/);
    const estimated = metered.filter(({ provider }) => provider === "openai");
    expect(estimated).toHaveLength(4);
    for (const one of estimated) {
      expect(one).toMatchObject({ model: "gpt-5.6", isPriced: true, isEstimated: true });
      expect(one["inputTokens"]).toBeGreaterThan(4000);
    }
  });

  it("is refused requests beyond a limit of bytes under way, until there is room again", async () => {
    const { home, said } = await attacked("large");
    await using _ = home;
    expect(said).toEqual(["large 4 wait", "large waits 503", "again waits"]);
  });
});

describe("a model route that can't be opened", () => {
  it("ends its task with the reason, and the session can go on", async () => {
    await using home = await AgentHome.start({ hello: [{ say: "Done." }] });
    await home.run("revoked", "[[hello]]", "--no-sandbox");
    await home.holdfast("token", "revoke", "revoked");
    const again = () => home.holdfast("run", "--session", "revoked", "--no-sandbox", "[[hello]]");
    const refused = await again();
    expect(refused.stdout + refused.stderr).toContain("token was revoked");
    const halted = (await home.records("revoked")).find(({ type }) => type === "task_halted");
    expect(halted?.data).toMatchObject({ code: "token_revoked" });
    const log = readFileSync(home.sessionDir(home.idOf("revoked"), "log", "host.log"), "utf8");
    expect(log).toBe("");
    await home.holdfast("token", "rotate", "revoked");
    expect(await home.holdfast("resume", "revoked")).toMatchObject({ status: 0 });
    expect(await home.holdfast("wait", "revoked")).toMatchObject({ status: 0 });
  });
});
