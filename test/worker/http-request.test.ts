// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how arguments and variables are named.
/**
 * One request to one address: which addresses it reaches, what it sends, and that no credential comes back.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/worker/index.ts";
import { judge } from "../../src/worker/reach.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { HeldServer } from "../support/held-server.ts";

const TOKEN = "planted-token-4711-of-the-user";

describe("http_request", () => {
  it("worker-4 fills a variable only into headers, and removes every form of its value from the answer", async () => {
    await using home = new ActingHome();
    await using server = await HeldServer.start();
    server.letGo();
    server.answer = ({ headers }) => ({
      headers: { "content-type": "text/plain", location: `http://localhost:1/?${TOKEN}` },
      body: `${headers.authorization} ${Buffer.from(TOKEN).toString("base64")} ${encodeURIComponent(TOKEN)} ${"x".repeat(
        2_000_000,
      )}`,
      status: 302,
    });
    const path = besideHome(home, "token");
    writeFileSync(path, `${TOKEN}\n`, { mode: 0o600 });
    await home.begin(`tools: { http_request: { env: [API_TOKEN], hosts: ["localhost:${server.port}"] } }\n`);
    writeFileSync(`${home.dir}/settings.yaml`, `variables: { API_TOKEN: { file: ${path} } }\n`, {
      mode: 0o600,
    });
    const headers = { authorization: "Bearer ${env.API_TOKEN}", "x-other": "${env.HOME}" };
    const args = { method: "POST", url: server.url, headers, body: "${env.API_TOKEN}" };
    await expect(home.prepare("http_request", args)).rejects.toMatchObject({ code: "arguments_invalid" });
    const right = { ...args, headers: { authorization: headers.authorization } };
    const outcome = await home.call("http_request", right);
    expect(server.heard).toMatchObject([{ method: "POST", url: "/act", body: "${env.API_TOKEN}" }]);
    expect(server.heard[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    // A redirect is reported, not followed.
    expect(outcome.facts).toEqual({ status: 302 });
    expect(outcome.text).toContain("[redacted:env:API_TOKEN]");
    expect(outcome.text.length).toBeLessThan(1_100_000);
    for (const form of [TOKEN, Buffer.from(TOKEN).toString("base64")]) {
      expect(outcome.text).not.toContain(form);
      expect(home.filesWith(form)).toEqual([]);
    }
  });

  it("is not reported as if nothing had been done if the value of a variable is like a part of its outcome", async () => {
    await using home = new ActingHome();
    const server = createServer((socket) => socket.once("data", () => socket.destroy()));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const path = besideHome(home, "flag");
    writeFileSync(path, "true\n", { mode: 0o600 });
    await home.begin(`tools: { http_request: { env: [FLAG], hosts: ["localhost:${port}"] } }\n`);
    const settings = `variables: { FLAG: { file: ${path} } }\n`;
    writeFileSync(`${home.dir}/settings.yaml`, settings, { mode: 0o600 });
    const url = `http://localhost:${port}/`;
    const { prepared, action } = await home.prepare("http_request", { method: "POST", url });
    const grant = await home.grant(action);
    const outcome = await prepared.act(grant, quiet());
    expect(outcome).toMatchObject({ outcome: "error", facts: { isUnknown: true } });
    expect(outcomeOf(home.task.room.sessionDir, 1, grant.approval)).toEqual({
      kind: "unknown",
      text: outcome.text,
    });
    server.close();
  });

  it("refuses addresses of this machine that the tool does not name, and anything but plain web addresses", async () => {
    await using home = new ActingHome();
    await using server = await HeldServer.start();
    server.letGo();
    await home.begin("");
    for (const url of [server.url, `http://127.0.0.1:${server.port}/`, `http://[::1]:${server.port}/`])
      expect(await home.call("http_request", { method: "GET", url }), url).toMatchObject({
        outcome: "refused",
        facts: { code: "tool_failed" },
      });
    for (const url of ["file:///etc/passwd", "https://a:b@example.org/", "ftp://example.org/", "nonsense"])
      await expect(home.prepare("http_request", { method: "GET", url }), url).rejects.toMatchObject({
        code: "arguments_invalid",
      });
    expect(server.heard).toEqual([]);
    const { prepared } = await home.prepare("http_request", {
      method: "GET",
      url: "https://example.org/a?b#c",
    });
    expect(prepared.target).toEqual({ method: "GET", url: "https://example.org:443/a?b" });
  });

  it("lookup-1 refuses a name with any private address, unless the tool names that host", async () => {
    const at =
      (...addresses: string[]) =>
      async () =>
        addresses;
    const url = new URL("https://api.example.org:8443/x");
    const failed = { code: "tool_failed" };
    await expect(judge(url, [], at("10.0.0.7"))).rejects.toMatchObject(failed);
    await expect(judge(url, [], at("93.184.216.34", "10.0.0.7"))).rejects.toMatchObject(failed);
    await expect(judge(url, [], at("127.0.0.1"))).rejects.toMatchObject(failed);
    await expect(judge(url, [], at("169.254.169.254"))).rejects.toMatchObject(failed);
    await expect(judge(url, ["*.example.org:8443"], at("10.0.0.7"))).rejects.toMatchObject(failed);
    await expect(judge(url, ["other.example.org:8443"], at("93.184.216.34"))).rejects.toMatchObject(failed);
    expect(await judge(url, ["api.example.org:8443"], at("10.0.0.7"))).toEqual(["10.0.0.7"]);
    expect(await judge(url, [], at("93.184.216.34"))).toEqual(["93.184.216.34"]);
    await expect(judge(new URL("http://10.0.0.7/"), [])).rejects.toMatchObject({ code: "invalid_host" });
  });
});
