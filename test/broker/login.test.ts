/**
 * Claude Code's own login: used while it is valid, renewed only if the user asks, never by two at once.
 */
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ClaudeLogin } from "../../src/broker/login.ts";
import { isCleared } from "../../src/broker/login-lock.ts";
import { systemClock } from "../../src/util/index.ts";
import { TestProvider, whenHeard } from "../support/broker.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";

class LoginDir extends TempDir {
  get dir(): string {
    return this.join("claude");
  }

  get file(): string {
    return this.join("claude", ".credentials.json");
  }

  write(login: object, mode = 0o600): void {
    mkdirSync(this.dir, { recursive: true });
    writeFileSync(this.file, JSON.stringify({ mcpOAuth: { kept: 1 }, claudeAiOauth: login }), { mode });
  }

  get content(): { mcpOAuth: unknown; claudeAiOauth: Record<string, unknown> } {
    return JSON.parse(readFileSync(this.file, "utf8"));
  }
}

const old = {
  accessToken: "sk-ant-oat01-planted-old",
  refreshToken: "sk-ant-ort01-planted-0",
  expiresAt: 1000,
  scopes: ["user:inference", "user:profile"],
  subscriptionType: "max",
};

/** Accepts each refresh token once, as the real endpoint does. */
async function tokenEndpoint() {
  const used = new Set<string>();
  const endpoint = await TestProvider.start(
    whenHeard((_, response, { body }) => {
      const { refresh_token } = JSON.parse(body.toString());
      if (used.has(refresh_token)) {
        response.writeHead(400).end(JSON.stringify({ error: "invalid_grant" }));
        return;
      }
      used.add(refresh_token);
      const answer = {
        access_token: `sk-ant-oat01-planted-${used.size}`,
        refresh_token: `sk-ant-ort01-planted-${used.size}`,
        expires_in: 3600,
      };
      response.end(JSON.stringify(answer));
    }),
  );
  return endpoint;
}

const loginOf = ({ dir }: LoginDir) => new ClaudeLogin(dir, systemClock);

describe("the login of Claude Code", () => {
  it("is read from its file at each use while it is valid, and is absent without a readable file", async () => {
    using temp = new LoginDir();
    const login = loginOf(temp);
    expect(await login.credential({ refresh: false })).toBeUndefined();
    temp.write({ ...old, expiresAt: Number.MAX_SAFE_INTEGER });
    expect(await login.credential({ refresh: false })).toEqual({
      form: "login",
      value: old.accessToken,
      source: "login",
    });
    temp.write({ ...old, accessToken: "sk-ant-oat01-newer", expiresAt: Number.MAX_SAFE_INTEGER });
    expect(await login.credential({ refresh: false })).toMatchObject({ value: "sk-ant-oat01-newer" });
    writeFileSync(temp.file, "{ half");
    expect(await login.credential({ refresh: false })).toBeUndefined();
  });

  it("fails once it has expired, with an error that tells how to renew it, and requests nothing", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new LoginDir();
    temp.write(old);
    const before = readFileSync(temp.file, "utf8");
    const failure = loginOf(temp).credential({ refresh: false, token_url: endpoint.url });
    await expect(failure).rejects.toMatchObject({
      code: "login_expired",
      wayOut: expect.stringMatching(/run claude once.*claude setup-token/),
    });
    expect([endpoint.heard, readFileSync(temp.file, "utf8")]).toEqual([[], before]);
  });

  it("is renewed and written back if the user asks for it, and nothing else in its file changes", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new LoginDir();
    temp.write(old, 0o640);
    const credential = await loginOf(temp).credential({ refresh: true, token_url: endpoint.url });
    expect(credential).toMatchObject({ value: "sk-ant-oat01-planted-1" });
    expect(JSON.parse(endpoint.last.body.toString())).toMatchObject({
      grant_type: "refresh_token",
      refresh_token: old.refreshToken,
      scope: "user:inference user:profile",
    });
    const { mcpOAuth, claudeAiOauth } = temp.content;
    expect(mcpOAuth).toEqual({ kept: 1 });
    expect(claudeAiOauth).toEqual({
      ...old,
      accessToken: "sk-ant-oat01-planted-1",
      refreshToken: "sk-ant-ort01-planted-1",
      expiresAt: expect.any(Number),
    });
    expect(statSync(temp.file).mode & 0o777).toBe(0o640);
    expect([readdirSync(temp.dir), readdirSync(temp.path)]).toEqual([[".credentials.json"], ["claude"]]);
  });

  it("login-1 is renewed once when callers in several processes need it at the same time", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new LoginDir();
    temp.write(old);
    const login = loginOf(temp);
    await using one = new TestChild("renew-login.ts", [temp.dir, endpoint.url]);
    await using two = new TestChild("renew-login.ts", [temp.dir, endpoint.url]);
    await Promise.all([one, two].map((child) => child.line((line) => line === "ready")));
    for (const child of [one, two]) child.send("go");
    const here = Array.from({ length: 8 }, () =>
      login.credential({ refresh: true, token_url: endpoint.url }).then((found) => found?.value),
    );
    const there = [one, two].map((child) => child.line((line) => line.startsWith("token ")));
    expect(new Set(await Promise.all(here))).toEqual(new Set(["sk-ant-oat01-planted-1"]));
    expect(new Set(await Promise.all(there))).toEqual(new Set(["token sk-ant-oat01-planted-1"]));
    expect(endpoint.heard).toHaveLength(1);
  });

  it("login-1 is not renewed while Claude Code holds a lock, and what Claude Code wrote then is used", async () => {
    await using endpoint = await tokenEndpoint();
    for (const name of ["claude/.oauth_refresh.lock", "claude.lock"]) {
      using temp = new LoginDir();
      temp.write(old);
      mkdirSync(temp.join(name));
      const renewing = loginOf(temp).credential({ refresh: true, token_url: endpoint.url });
      await sleep(300);
      expect(endpoint.heard, name).toEqual([]);
      temp.write({ ...old, accessToken: "sk-ant-oat01-by-claude", expiresAt: Number.MAX_SAFE_INTEGER });
      rmdirSync(temp.join(name));
      expect(await renewing).toMatchObject({ value: "sk-ant-oat01-by-claude" });
    }
    expect(endpoint.heard).toEqual([]);
  });

  it("is renewed in spite of a lock whose holder was killed long ago", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new LoginDir();
    temp.write(old);
    const lock = join(temp.dir, ".oauth_refresh.lock");
    mkdirSync(lock);
    utimesSync(lock, 1, 1);
    const credential = await loginOf(temp).credential({ refresh: true, token_url: endpoint.url });
    expect(credential).toMatchObject({ value: "sk-ant-oat01-planted-1" });
  });

  it("login-1 a new lock that took the place of an abandoned one stays", () => {
    using temp = new LoginDir();
    const lock = temp.join("claude.lock");
    mkdirSync(lock);
    const { ino } = statSync(lock);
    // Another process found it abandoned, and was slower than the one that made this one.
    expect(isCleared(lock)).toBe(false);
    expect(statSync(lock).ino).toBe(ino);
    utimesSync(lock, 1, 1);
    expect(isCleared(lock)).toBe(true);
    expect(readdirSync(temp.path)).toEqual([]);
  });

  it("leaves no lock behind where it can't make all of them, and fails with the reason", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new TempDir();
    // The second lock's name would be longer than any file's may be.
    const dir = temp.join("d".repeat(252));
    mkdirSync(dir);
    const write = (expiresAt: number) =>
      writeFileSync(join(dir, ".credentials.json"), JSON.stringify({ claudeAiOauth: { ...old, expiresAt } }));
    const credential = () =>
      new ClaudeLogin(dir, systemClock).credential({ refresh: true, token_url: endpoint.url });
    write(old.expiresAt);
    await expect(credential()).rejects.toMatchObject({
      code: "login_expired",
      message: expect.stringContaining("ENAMETOOLONG"),
    });
    // While it is valid, it is used.
    write(systemClock.nowMs() + 60_000);
    expect(await credential()).toMatchObject({ value: old.accessToken });
    expect([endpoint.heard, readdirSync(dir)]).toEqual([[], [".credentials.json"]]);
  });

  it("login-1 is not overwritten if another process wrote it while the endpoint was asked", async () => {
    using temp = new LoginDir();
    temp.write(old);
    const newer = {
      ...old,
      accessToken: "sk-ant-oat01-other",
      refreshToken: "sk-ant-ort01-other",
      expiresAt: 9e15,
    };
    await using endpoint = await TestProvider.start(
      whenHeard((_, response) => {
        temp.write(newer);
        response.end(JSON.stringify({ access_token: "sk-ant-oat01-ours", expires_in: 3600 }));
      }),
    );
    const credential = await loginOf(temp).credential({ refresh: true, token_url: endpoint.url });
    expect(credential).toMatchObject({ value: "sk-ant-oat01-other" });
    expect(temp.content.claudeAiOauth).toEqual(newer);
  });

  it("login-2 a renewed login that can't be written is used from memory, and written when that works again", async () => {
    await using endpoint = await tokenEndpoint();
    using temp = new LoginDir();
    temp.write(old);
    // A file without a name, behind a link: even root can read it, and can't replace it.
    const kept = temp.join("kept");
    copyFileSync(temp.file, kept);
    const nameless = openSync(temp.file, "r");
    rmSync(temp.file);
    symlinkSync(`/proc/${process.pid}/fd/${nameless}`, temp.file);
    const login = loginOf(temp);
    const use = () => login.credential({ refresh: true, token_url: endpoint.url });
    expect([await use(), await use()]).toMatchObject(Array(2).fill({ value: "sk-ant-oat01-planted-1" }));
    expect(temp.content.claudeAiOauth).toEqual(old);
    rmSync(temp.file);
    closeSync(nameless);
    renameSync(kept, temp.file);
    expect(await use()).toMatchObject({ value: "sk-ant-oat01-planted-1" });
    expect(temp.content.claudeAiOauth).toMatchObject({ refreshToken: "sk-ant-ort01-planted-1" });
    expect(await loginOf(temp).credential({ refresh: false })).toMatchObject({
      value: "sk-ant-oat01-planted-1",
    });
    expect(endpoint.heard).toHaveLength(1);
  });

  it("stays unchanged, and in use until it expires, if the endpoint refuses to renew it", async () => {
    await using endpoint = await TestProvider.start(
      whenHeard((_, response) => void response.writeHead(400).end('{"error":"invalid_grant"}')),
    );
    using temp = new LoginDir();
    temp.write(old);
    const renew = () => loginOf(temp).credential({ refresh: true, token_url: endpoint.url });
    await expect(renew()).rejects.toMatchObject({
      code: "login_expired",
      message: expect.stringContaining("400"),
    });
    expect(temp.content.claudeAiOauth).toEqual(old);
    temp.write({ ...old, expiresAt: systemClock.nowMs() + 60_000 });
    expect(await renew()).toMatchObject({ value: old.accessToken });
    // A refresh token that was refused is not sent again; another one is.
    const login = loginOf(temp);
    const heard = endpoint.heard.length;
    const again = () => login.credential({ refresh: true, token_url: endpoint.url }).catch(() => undefined);
    temp.write(old);
    await again();
    await again();
    expect(endpoint.heard).toHaveLength(heard + 1);
    temp.write({ ...old, refreshToken: "sk-ant-ort01-planted-other" });
    await again();
    expect(endpoint.heard).toHaveLength(heard + 2);
  });
});
