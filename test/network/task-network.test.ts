/**
 * The network of a task in a namespace without a way out, tested with common programs: which hosts they
 * reach, which errors they get for others, and how a person connects to the task's ports.
 */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { TaskNetwork } from "../../src/network/task-network.ts";
import { findProgram } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { Inside } from "../support/inside.ts";
import { gitIn, makeRepo } from "../support/repo.ts";
import { LOOPBACK_IS_PUBLIC, TestHost } from "../support/upstreams.ts";
import { TestSite } from "../support/web.ts";

const who = process.getuid?.() === 0 ? "root" : "an ordinary user";
console.log(
  hasSandbox ? `the network of a task as ${who}` : "left out: the network of a task: no bubblewrap",
);

const node = process.execPath;
const PYTHON = "/usr/bin/python3";

const hello = (site: string) =>
  TestSite.plain((request, response) => response.end(`${site} ${request.headers.host}`));

/** The addresses of this machine that others reach it at. */
const ownAddresses = () =>
  Object.values(networkInterfaces()).flatMap((all = []) =>
    all.flatMap(({ internal, family, address }) => (internal || family !== "IPv4" ? [] : [address])),
  );

/** The error that a connection fails with. */
async function answerAt(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect");
    return "connected";
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  } finally {
    socket.destroy();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

describe.skipIf(!hasSandbox)("the network of a task", () => {
  it("lookup-1 lets curl reach a named host, and tells it why it reaches no other", async () => {
    await using site = await hello("the site of");
    await using inside = await Inside.begin([`example.org:${site.port}`]);
    const curl = async (...args: string[]) => inside.run(["curl", "-sS", "-m", "20", ...args]);
    const at = `example.org:${site.port}`;
    expect(await curl(`http://${at}/`)).toMatchObject({ status: 0, stdout: `the site of ${at}` });
    expect(await curl("-H", "Host: evil.example", `http://${at}/`)).toMatchObject({
      stdout: `the site of ${at}`,
    });
    expect(await curl("-T", "/etc/hostname", `http://${at}/`)).toMatchObject({ stdout: `the site of ${at}` });
    expect((await curl("http://evil.example/")).stdout).toContain(
      "holdfast run --host evil.example allows it",
    );
    expect((await curl("https://evil.example/")).stderr).toContain("403");
    expect((await curl("http://127.0.0.2/")).stdout).toContain("is an address");
    expect(inside.contacts.take()).toEqual({
      allowed: [{ host: at, connections: 3 }],
      refused: [
        { host: "evil.example", connections: 2 },
        { host: "127.0.0.2", connections: 1 },
      ],
    });
    expect(inside.refused.map(({ host, port }) => `${host}:${port}`)).toEqual([
      "evil.example:80",
      "127.0.0.2:80",
    ]);
  });

  it("opener-1 has no other way out than the proxy: no address, no name, no loopback of this machine", async () => {
    await using site = await hello("REACHED");
    await using inside = await Inside.begin([`example.org:${site.port}`]);
    const direct = async (url: string) =>
      (await inside.namespace.run(["curl", "-sS", "-m", "5", url])).stderr;
    expect(await direct(`http://127.0.0.1:${site.port}/`)).toMatch(/refused|connect/);
    expect(await direct(`http://[::1]:${site.port}/`)).toMatch(/refused|connect/);
    expect(await direct("http://10.0.0.1/")).toMatch(/unreachable|connect/);
    expect(await direct(`http://example.org:${site.port}/`)).toContain("resolve");
    // Past the proxy, no program reaches this machine's loopback.
    const asked = await inside.run(["curl", "-sS", "--noproxy", "", `http://localhost:${site.port}/`]);
    expect(asked.stdout).not.toContain("REACHED");
  });

  const hasTls = findProgram("openssl") !== undefined;
  if (!hasTls) console.log("left out: TLS through the proxy: openssl is not installed");
  it.skipIf(!hasTls)(
    "carries TLS end to end between a host and curl, Node's fetch or Node's https",
    async () => {
      using temp = new TempDir();
      await using site = await TestSite.tls(temp, (_request, response) => response.end("over TLS"));
      await using inside = await Inside.begin([`example.org:${site.port}`]);
      const url = `https://example.org:${site.port}/`;
      const cert = temp.join("cert.pem");
      expect(await inside.run(["curl", "-sS", "--cacert", cert, url])).toMatchObject({ stdout: "over TLS" });
      const script = `
      const https = require("node:https");
      fetch(${JSON.stringify(url)}).then((answer) => answer.text()).then(console.log).then(() =>
        https.get(${JSON.stringify(url)}, (answer) => answer.pipe(process.stdout)));`;
      const asked = await inside.run([node, "-e", script], { NODE_EXTRA_CA_CERTS: cert });
      expect(asked).toMatchObject({ status: 0, stdout: "over TLS\nover TLS", stderr: "" });
    },
  );

  it("lets Node's fetch reach a named host over plain HTTP, and no other", async () => {
    await using site = await hello("the site of");
    await using inside = await Inside.begin([`example.org:${site.port}`]);
    const script = `
      const body = new ReadableStream({ start(to) { to.enqueue(Buffer.from("x".repeat(100000))); to.close(); } });
      fetch("http://example.org:${site.port}/", { method: "POST", body, duplex: "half" })
        .then((answer) => answer.text()).then(console.log)
        .then(() => fetch("http://evil.example/")).catch(({ message }) => console.log(message));`;
    const { stdout } = await inside.run([node, "-e", script]);
    expect(stdout).toBe(`the site of example.org:${site.port}\nfetch failed\n`);
    expect(inside.refused).toMatchObject([{ host: "evil.example", port: 80 }]);
  });

  it("lets git clone from a named host and push to it", async () => {
    using temp = new TempDir();
    const origin = makeRepo(temp.join("site", "it.git"), { "big.txt": "line\n".repeat(200_000) });
    gitIn(origin, "config", "http.receivepack", "true");
    await using site = await TestSite.git(temp.join("site"));
    await using inside = await Inside.begin([`example.org:${site.port}`]);
    const [url, clone] = [`http://example.org:${site.port}/it.git`, temp.join("clone")];
    const env = { HOME: temp.path, GIT_CONFIG_NOSYSTEM: "1" };
    const git = (...args: string[]) => inside.run(["git", ...args], env);
    expect(await git("clone", "-q", url, clone)).toMatchObject({ status: 0 });
    expect(readFileSync(`${clone}/big.txt`, "utf8").length).toBe(1_000_000);
    expect(await git("-C", clone, "push", "-q", "origin", "HEAD:refs/heads/other")).toMatchObject({
      status: 0,
    });
    expect(gitIn(origin, "rev-parse", "other")).toBe(gitIn(origin, "rev-parse", "main"));
    const refused = await git("ls-remote", "https://evil.example/it.git");
    expect(refused.stderr).toContain("403");
    expect(inside.contacts.take()?.refused).toEqual([{ host: "evil.example", connections: 1 }]);
  });

  it.skipIf(!findProgram("npm"))("lets npm reach a named registry", async () => {
    using temp = new TempDir();
    await using site = await TestSite.plain((_request, response) => response.end("{}"));
    await using inside = await Inside.begin([`registry.example:${site.port}`]);
    const npm = ["npm", "ping", "--registry", `http://registry.example:${site.port}/`];
    // Another HOME, so that a proxy in the user's own .npmrc does not count.
    const env = {
      HOME: temp.path,
      npm_config_cache: temp.join("cache"),
      npm_config_update_notifier: "false",
    };
    expect((await inside.run(npm, env)).status).toBe(0);
    expect(inside.contacts.take()).toMatchObject({ refused: [] });
  });

  it.each([
    ["pip", ["download", "--retries", "0", "--index-url", "https://tool.example/simple", "x"]],
    ["cargo", ["search", "--registry", "mine", "x"]],
  ])("lets %s find the proxy", async (program, words) => {
    if (!findProgram(program)) return console.log(`left out: ${program} and the proxy: it is not installed`);
    using temp = new TempDir();
    await using inside = await Inside.begin([]);
    const user = process.env["HOME"] ?? "/";
    const env = {
      HOME: temp.path,
      PYENV_ROOT: process.env["PYENV_ROOT"] ?? `${user}/.pyenv`,
      RUSTUP_HOME: process.env["RUSTUP_HOME"] ?? `${user}/.rustup`,
      CARGO_HOME: temp.path,
      CARGO_NET_RETRY: "0",
      CARGO_REGISTRIES_MINE_INDEX: "sparse+https://tool.example/",
    };
    // Under this HOME, a version manager may not find it.
    const { stdout: version } = await inside.run([program, "--version"], env);
    if (version === "") return console.log(`left out: ${program} and the proxy: it does not start here`);
    const { stderr } = await inside.run([program, ...words], env);
    expect(inside.contacts.take()?.refused, stderr).toMatchObject([{ host: "tool.example" }]);
  });

  it.skipIf(!existsSync(PYTHON))("lets Python's urllib find the proxy and see why it refuses", async () => {
    await using site = await hello("the site of");
    await using inside = await Inside.begin([`example.org:${site.port}`]);
    const script = (url: string) =>
      `import urllib.request; print(urllib.request.urlopen("${url}").read().decode())`;
    const python = (url: string) => inside.run([PYTHON, "-c", script(url)]);
    expect((await python(`http://example.org:${site.port}/`)).stdout).toContain("the site of example.org");
    expect((await python("https://evil.example/")).stderr).toContain("holdfast run --host evil.example");
  });

  it("localhost:PORT opens that port of this machine and no other, by any name of loopback", async () => {
    await using database = await TestHost.start((socket) => void socket.pipe(socket));
    await using other = await TestHost.start((socket) => void socket.end("REACHED"));
    await using inside = await Inside.begin([`localhost:${database.port}`]);
    const talk = async (host: string, port: number) => {
      const script = `const socket = require("node:net").connect(${port}, "${host}").on("error", ({ code }) => console.log(code));
        socket.on("data", (data) => console.log(String(data))); socket.end("SELECT 1");`;
      return (await inside.run([node, "-e", script])).stdout.trim();
    };
    for (const host of ["localhost", "127.0.0.1", "::1"])
      expect(await talk(host, database.port), host).toBe("SELECT 1");
    expect(await talk("127.0.0.1", other.port)).toBe("ECONNREFUSED");
    expect(inside.contacts.take()?.allowed).toEqual([{ host: `localhost:${database.port}`, connections: 3 }]);
    await inside.network.allow(`localhost:${other.port}`);
    expect(await talk("127.0.0.1", other.port)).toBe("REACHED");
  });

  it("reaches a host once a person allows it, and refuses an address in place of a host", async () => {
    await using site = await hello("the site of");
    await using inside = await Inside.begin([]);
    const at = `example.org:${site.port}`;
    const curl = async () => (await inside.run(["curl", "-sS", `http://${at}/`])).stdout;
    expect(await curl()).toContain(`holdfast run --host ${at}`);
    await inside.network.allow(at);
    expect(await curl()).toBe(`the site of ${at}`);
    await expect(inside.network.allow("127.0.0.1")).rejects.toThrow("address");
  });

  it("shows a person the dev server of a task on its leased port, until the network is closed", async () => {
    const [leased, blocked] = [await freePort(), await freePort()];
    const taken = createServer().listen(blocked, "127.0.0.1");
    await once(taken, "listening");
    await using inside = await Inside.begin([`localhost:${leased}`], { inwardPorts: [leased, blocked] });
    expect(inside.network.blockedPorts).toEqual([blocked]);
    const page = () => fetch(`http://127.0.0.1:${leased}/`).then((answer) => answer.text());
    await expect(page()).rejects.toThrow("fetch failed");
    const script = `require("node:http").createServer((_, answer) => answer.end("<h1>dev</h1>"))
      .listen(${leased}, "localhost", () => console.log("ready"));`;
    const server = inside.namespace.start([node, "-e", script]);
    using _ = { [Symbol.dispose]: () => void server.kill("SIGKILL") };
    if (server.stdout) await once(server.stdout, "data");
    expect(await Promise.all([page(), page(), page()])).toEqual(Array(3).fill("<h1>dev</h1>"));
    // A server on all addresses would answer on these, too.
    for (const address of ["127.0.0.2", ...ownAddresses()])
      expect(await answerAt(address, leased), address).toBe("ECONNREFUSED");
    inside.network.close();
    await expect(page()).rejects.toThrow("fetch failed");
    taken.close();
  });

  it("leaves no leased port open outside when it can't be opened itself", async () => {
    const leased = await freePort();
    const enter = ["nsenter", "-t", "999999999", "-n", "--"];
    const begun = TaskNetwork.begin({ enter, hosts: [], inwardPorts: [leased] });
    await expect(begun).rejects.toThrow(expect.objectContaining({ code: "network_failed" }));
    const again = createServer().listen(leased, "127.0.0.1");
    await once(again, "listening");
    again.close();
    await expect(TaskNetwork.begin({ enter, hosts: ["http://x/"] })).rejects.toThrow(
      expect.objectContaining({ code: "invalid_host" }),
    );
  });

  it("opens the same ports in the same sandbox for the next process of a session", async () => {
    await using site = await hello("the site of");
    const at = `example.org:${site.port}`;
    await using inside = await Inside.begin([at, "localhost:18128"]);
    const before = inside.network.environment;
    const old = inside.run(["curl", "-sS", `http://${at}/`]);
    await old;
    inside.network.close();
    const { enter } = inside.namespace;
    inside.network = await TaskNetwork.begin({
      enter,
      hosts: [at, "localhost:18128"],
      ...LOOPBACK_IS_PUBLIC,
    });
    expect(inside.network.environment).toEqual(before);
    // Port 18128 is the one that was named, so the proxy took the next.
    expect(before["HTTPS_PROXY"]).toBe("http://127.0.0.1:18129");
    expect((await inside.run(["curl", "-sS", `http://${at}/`])).stdout).toBe(`the site of ${at}`);
  });
});
