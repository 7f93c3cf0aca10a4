/**
 * What a task reaches from its sandbox, started as a user starts it: what the kernel refuses, what the proxy
 * refuses, and what a person then allows. Everything is real, and nothing leaves loopback.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

if (!hasSandbox) console.log("left out: what a task reaches: no sandbox can be made here");

class Site implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(word: string, port = 0): Promise<Site> {
    const server = createServer((_, answer) => answer.end(word)).listen(port, "127.0.0.1");
    await once(server, "listening");
    return new Site(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Asks the proxy for the port, again and again, until the port itself answers. */
const untilReached = (port: number) =>
  `until curl -s --max-time 10 http://localhost:${port}/; do curl -s -o "$TMPDIR/answer" --noproxy "" -p -x "$HTTPS_PROXY" http://localhost:${port}/; sleep 0.1; done`;

describe.skipIf(!hasSandbox)("a task in its sandbox", () => {
  it("view-1 can't write to its capsule in the lane read-only: the kernel refuses every write", async () => {
    using home = new HostHome();
    const words =
      "echo x > a.txt; echo x > made; rm a.txt; mkdir dir; cat a.txt; echo y > $TMPDIR/y && cat $TMPDIR/y";
    const run = async (...lane: string[]) => {
      const { stdout, stderr } = await home.cli("run", "--repo", home.main, ...lane, "--", "sh", "-c", words);
      return { stdout, refusals: (stderr.match(/Read-only file system/g) ?? []).length };
    };
    expect(await run("--lane", "read-only")).toEqual({ stdout: "one\ny\n", refusals: 4 });
    expect(await run()).toEqual({ stdout: "y\n", refusals: 0 });
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
  });

  it.skipIf(!hasScript)(
    "allow-1 is refused a host, and reaches it once a person answers yes or calls holdfast allow",
    async () => {
      using home = new HostHome();
      await using first = await Site.open("FIRST-WORD");
      await using second = await Site.open("SECOND-WORD");
      const words = `${untilReached(first.port)}; ${untilReached(second.port)}`;
      await using terminal = new Terminal(home, ["run", "--name", "one", "--", "sh", "-c", words]);
      await terminal.shows(`let this task reach localhost:${first.port} until it ends? [y/N]`);
      expect(terminal.screen).not.toContain("FIRST-WORD");
      terminal.type("y\n");
      await terminal.shows("FIRST-WORD");
      await terminal.shows(`let this task reach localhost:${second.port} until it ends? [y/N]`);
      terminal.type("n\n");
      expect((await home.cli("allow", "one", `localhost:${second.port}`)).status).toBe(0);
      await terminal.shows("SECOND-WORD");
      await terminal.ended;
      const log = (await home.cli("log", "one", "--json")).stdout.split("\n").filter(Boolean);
      const used = log.map((line) => JSON.parse(line)).find(({ type }) => type === "network_used");
      for (const { port } of [first, second])
        for (const which of ["allowed", "refused"])
          expect(used.data[which], which).toContainEqual({
            host: `localhost:${port}`,
            connections: expect.any(Number),
          });
    },
  );

  it("is reported when an allowed port of the machine can't be reached, because the task itself listens there", async () => {
    using home = new HostHome();
    await using site = await Site.open("OUTSIDE");
    const listen = `require("node:net").createServer().listen(${site.port}, "127.0.0.1", () => console.log("listens"))`;
    const command = home.spawnCli(["run", "--name", "one", "--", "node", "-e", listen]);
    const ended = once(command, "exit");
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      command[stream].on("data", (chunk) => {
        said[stream] += chunk;
      });
    await until(() => said.stdout.includes("listens"));
    expect((await home.cli("allow", "one", `localhost:${site.port}`)).status).toBe(0);
    const expected = new RegExp(`^\\[network\\] +localhost:${site.port} can't be reached: `, "m");
    await until(() => expected.test(said.stderr));
    await home.cli("pause", "one");
    await ended;
  });

  it("is reported to have lost a leased port when another program has taken it", async () => {
    using home = new HostHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { ports: [PORT] }\n" });
    const begun = await home.cli("run", "--repo", home.main, "--name", "one", "--", "sh", "-c", "echo $PORT");
    expect(begun.stderr).not.toContain("taken");
    const port = Number(begun.stdout);
    await using _ = await Site.open("another", port);
    const next = await home.cli("run", "--session", "one", "--", "true");
    expect(next.stderr).toMatch(new RegExp(`^\\[port\\] +${port} is taken by another program`, "m"));
  });
});
