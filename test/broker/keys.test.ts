/**
 * Where keys come from, in which order, and which sessions they serve.
 */
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it, vi } from "vitest";
import { bringKeys } from "../../src/broker/bringing.ts";
import { keyNotes } from "../../src/broker/notes.ts";
import { BrokerHome, bytesOf, modelRequest, TestProvider, whenHeard } from "../support/broker.ts";

const home = await BrokerHome.make();
const provider = await TestProvider.start(
  whenHeard((_, response, { headers }) => {
    // As if this key had been replaced at the provider.
    response.statusCode = headers["x-api-key"] === "from-command-1" ? 401 : 200;
    response.end("{}");
  }),
);
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const base = `providers:
  anthropic: { base_url: "${provider.url}" }
  openai: { base_url: "${provider.url}" }
  local: { api: openai, base_url: "${provider.url}", key_env: LOCAL_KEY }
`;

/** The credential that the provider gets with a request of this session. */
async function given(session: Awaited<ReturnType<BrokerHome["session"]>>, name = "anthropic") {
  const connection = await home.connect(session);
  const path = name === "anthropic" ? "/v1/messages" : "/v1/chat/completions";
  const answer = await connection.forward(modelRequest({ provider: name, path }));
  await bytesOf(answer.body);
  return provider.last.headers["x-api-key"] ?? provider.last.headers.authorization;
}

const login = (accessToken: string, expiresAt: number) =>
  JSON.stringify({ claudeAiOauth: { accessToken, expiresAt, refreshToken: "never", scopes: [] } });

describe("keys", () => {
  it("a command comes before a file, a file before the environment, the environment before the agent's login", async () => {
    const session = await home.session();
    const file = home.userFile("key", "from-file\nand more\n");
    home.userFile(".claude/.credentials.json", login("sk-ant-oat01-from-login", 9e15));
    const counter = home.userFile(
      "print-key",
      `#!/bin/sh\necho ran >> '${home.user}/ran'\necho from-command-$(wc -l < '${home.user}/ran')\n`,
      0o700,
    );

    home.settings(`${base}`);
    const env = { ANTHROPIC_API_KEY: "from-environment", PATH: "/nowhere" };
    expect(await given(session)).toBe("Bearer sk-ant-oat01-from-login");
    await bringKeys(home.home, session, env);
    expect(await given(session)).toBe("from-environment");
    home.settings(`${base}keys: { anthropic: { file: ${file} } }\n`);
    expect(await given(session)).toBe("from-file");
    home.settings(`${base}keys: { anthropic: { command: [~/print-key] } }\n`);
    // The provider refuses the first key, so the command runs again; its second key is kept.
    expect(await given(session)).toBe("from-command-1");
    expect(await given(session)).toBe("from-command-2");
    expect(await given(await home.session())).toBe("from-command-2");
    expect(readFileSync(home.join("user", "ran"), "utf8")).toBe("ran\nran\n");
    expect(counter).toContain("print-key");
  });

  it("a failing command or a missing file is reported, and no other key takes its place", async () => {
    const session = await home.session();
    const connection = await home.connect(session);
    for (const [key, said] of [
      ["command: [sh, -c, 'echo planted-complaint >&2; exit 3']", "sh ended with status 3"],
      ["command: [no-such-program-here]", "no-such-program-here does not exist"],
      ["command: ['true']", "printed no key"],
      ["file: ~/nothing", "ENOENT"],
    ] as const) {
      home.settings(`${base}keys: { anthropic: { ${key} } }\n`);
      await bringKeys(home.home, session, { ANTHROPIC_API_KEY: "from-environment" });
      const failure = connection.forward(modelRequest());
      await expect(failure).rejects.toMatchObject({ code: "key_missing", facts: { provider: "anthropic" } });
      await expect(failure).rejects.toThrow(said);
      await expect(failure).rejects.not.toThrow("planted-complaint");
    }
  });

  it("a failed command does not run again at every request, and an expired login is reported", async () => {
    const connection = await home.connect(await home.session());
    const ran = home.join("user", "failed");
    home.settings(`${base}keys: { openai: { command: [sh, -c, 'echo ran >> ${ran}; exit 1'] } }\n`);
    const request = modelRequest({ provider: "openai", path: "/v1/responses" });
    for (let round = 0; round < 3; round += 1)
      await expect(connection.forward(request)).rejects.toMatchObject({ code: "key_missing" });
    expect(readFileSync(ran, "utf8")).toBe("ran\n");
    home.userFile(".claude/.credentials.json", login("sk-ant-oat01-old", 1));
    await expect(connection.forward(modelRequest())).rejects.toMatchObject({ code: "login_expired" });
    expect(await connection.credential("anthropic")).toEqual({ kind: "login" });
    home.userFile(".claude/.credentials.json", login("sk-ant-oat01-from-login", 9e15));
  });

  it("a key file is refused if it is empty, inside Holdfast's home or readable by others", async () => {
    const connection = await home.connect(await home.session());
    const inHome = home.join("home", "key");
    home.userFile("../home/key", "planted");
    symlinkSync(inHome, home.join("user", "link"));
    for (const [path, said] of [
      [home.userFile("wide", "planted", 0o640), "has mode 640"],
      [inHome, "is inside Holdfast's home"],
      [home.join("user", "link"), "is inside Holdfast's home"],
      [home.userFile("empty", ""), "has no key"],
    ] as const) {
      home.settings(`${base}keys: { openai: { file: ${path} } }\n`);
      const failure = connection.forward(modelRequest({ provider: "openai", path: "/v1/responses" }));
      const code = said === "has no key" ? "key_missing" : "unsafe_permissions";
      await expect(failure).rejects.toMatchObject({ code });
      await expect(failure).rejects.toThrow(said);
      expect(await keyNotes(home.home, {})).toContainEqual(
        expect.objectContaining({ provider: "openai", source: "file", isUsable: false }),
      );
    }
  });

  it("key-1 a key from the environment serves only the session that brought it", async () => {
    home.settings(base);
    const [one, two] = [await home.session(), await home.session()];
    await bringKeys(home.home, one, { OPENAI_API_KEY: "of-one", LOCAL_KEY: "local-of-one" });
    expect(await given(one, "openai")).toBe("Bearer of-one");
    const heard = provider.heard.length;
    await expect(given(two, "openai")).rejects.toMatchObject({
      code: "key_missing",
      message: expect.stringMatching(/openai.*OPENAI_API_KEY.*keys\.openai/),
      facts: { provider: "openai" },
    });
    expect(provider.heard).toHaveLength(heard);
    await bringKeys(home.home, two, { OPENAI_API_KEY: "of-two" });
    expect(await given(two, "openai")).toBe("Bearer of-two");
    // Keys brought earlier for other providers stay; for the same provider the latest key counts.
    await bringKeys(home.home, one, { OPENAI_API_KEY: "of-one-now" });
    expect(await given(one, "openai")).toBe("Bearer of-one-now");
    expect(await given(one, "local")).toBe("Bearer local-of-one");
    await bringKeys(home.home, one, { ANTHROPIC_API_KEY: "of-one" });
    await bringKeys(home.home, one, { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-of-one" });
    expect(await given(one)).toBe("Bearer sk-ant-oat01-of-one");
  });

  it("a session keeps the keys that it was given when a process that acts for others brings its own", async () => {
    home.settings(base);
    const session = await home.session();
    await bringKeys(home.home, session, { ANTHROPIC_API_KEY: "of-a-person" });
    const service = { ...home.home, isService: true };
    const env = { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-of-serve", OPENAI_API_KEY: "of-serve" };
    await bringKeys(service, session, { ...env, ANTHROPIC_API_KEY: "of-serve" });
    expect(await given(session)).toBe("of-a-person");
    expect(await given(session, "openai")).toBe("Bearer of-serve");
    await bringKeys(home.home, session, { ANTHROPIC_API_KEY: "of-the-next" });
    expect(await given(session)).toBe("of-the-next");
  });

  it("forward-1 nothing is sent for a client that hangs up during the lookup of its key", async () => {
    const path = home.join("user", "waits");
    home.settings(
      `${base}keys: { openai: { command: [sh, -c, 'touch ${path}; while [ -e ${path} ]; do sleep 0.05; done; echo key'] } }\n`,
    );
    const connection = await home.connect(await home.session());
    const stop = new AbortController();
    const body = Buffer.alloc(0);
    const request = modelRequest({ provider: "openai", path: "/v1/responses", signal: stop.signal, body });
    const given = expect(connection.forward(request)).rejects.toMatchObject({ code: "interrupted" });
    while (!existsSync(path)) await sleep(20);
    const heard = provider.heard.length;
    stop.abort();
    await given;
    rmSync(path);
    // The next request gets its answer.
    expect(await connection.credential("openai")).toEqual({ kind: "key" });
    await bytesOf((await connection.forward({ ...request, signal: new AbortController().signal })).body);
    expect(provider.heard).toHaveLength(heard + 1);
  });

  it("tokens are sent as bearer tokens, and a login's token with the beta header it needs", async () => {
    home.settings(base);
    const session = await home.session();
    await bringKeys(home.home, session, { ANTHROPIC_AUTH_TOKEN: "of-a-gateway" });
    expect(await given(session)).toBe("Bearer of-a-gateway");
    expect(provider.last.headers["anthropic-beta"]).toBeUndefined();
    const other = await home.session();
    await bringKeys(home.home, other, { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-of-setup" });
    const connection = await home.connect(other);
    const headers = { "anthropic-beta": "claude-code-20250219, oauth-2025-04-20,x" };
    for (const [sent, expected] of [
      [headers, "claude-code-20250219,oauth-2025-04-20,x"],
      [{}, "oauth-2025-04-20"],
    ] as const) {
      await bytesOf((await connection.forward(modelRequest({ headers: sent }))).body);
      expect(provider.last.headers["anthropic-beta"]).toBe(expected);
    }
    expect(provider.last.headers).toMatchObject({ authorization: "Bearer sk-ant-oat01-of-setup" });
    expect(await connection.credential("anthropic")).toEqual({ kind: "login" });
  });

  it("a session uses the login of its own CLAUDE_CONFIG_DIR, also when another session started the broker", async () => {
    home.settings(base);
    home.userFile(".claude/.credentials.json", login("sk-ant-oat01-private", 9e15));
    home.userFile("work/.credentials.json", login("sk-ant-oat01-work", 9e15));
    const session = await home.session();
    expect(await given(session)).toBe("Bearer sk-ant-oat01-private");
    const env = { CLAUDE_CONFIG_DIR: `${home.user}/work` };
    vi.stubEnv("CLAUDE_CONFIG_DIR", env.CLAUDE_CONFIG_DIR);
    const connection = await home.connect(session);
    // What an agent sends under that name changes nothing, and the provider does not get it.
    const headers = {
      ...modelRequest().headers,
      "holdfast-login-dir": encodeURIComponent(`${home.user}/.claude`),
    };
    await bytesOf((await connection.forward(modelRequest({ headers }))).body);
    vi.stubEnv("CLAUDE_CONFIG_DIR", undefined);
    expect(provider.last.headers.authorization).toBe("Bearer sk-ant-oat01-work");
    expect(provider.last.headers).not.toHaveProperty("holdfast-login-dir");
    home.userFile("work/.credentials.json", login("sk-ant-oat01-work", 1));
    expect((await keyNotes(home.home, env))[0]).toMatchObject({
      isUsable: false,
      detail: expect.stringContaining(`the login of claude in ${home.user}/work, which has expired`),
    });
    expect((await keyNotes(home.home, {}))[0]).toMatchObject({ source: "login", isUsable: true });
  });

  it("keyNotes says where each provider's key was found, without any value", async () => {
    home.settings(`${base}  free: { api: openai, base_url: "${provider.url}" }
keys: { openai: { command: [no-such-program-here, a] } }
`);
    const env = { GOOGLE_API_KEY: "planted-google", ANTHROPIC_API_KEY: " ", LOCAL_KEY: "two words" };
    const notes = await keyNotes(home.home, env);
    expect(JSON.stringify(notes)).not.toMatch(/planted|two words|sk-ant/);
    expect(notes).toEqual([
      expect.objectContaining({ provider: "anthropic", source: "login", isUsable: true }),
      expect.objectContaining({ provider: "openai", source: "command", isUsable: false }),
      expect.objectContaining({
        provider: "gemini",
        source: "environment",
        isUsable: true,
        detail: "from GOOGLE_API_KEY of your environment",
      }),
      expect.objectContaining({ provider: "local", source: "none", isUsable: false }),
      expect.objectContaining({ provider: "free", source: "none", isUsable: true }),
    ]);
    home.userFile(".claude/.credentials.json", login("sk-ant-oat01-old", 1));
    expect((await keyNotes(home.home, {}))[0]).toMatchObject({
      source: "login",
      isUsable: false,
      detail: expect.stringContaining("claude setup-token"),
    });
  });
});
