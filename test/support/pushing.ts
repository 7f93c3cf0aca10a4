/**
 * A home with a script that writes a file and then acts outside, in a lane that asks: it pushes to a bare repo, or
 * posts to a server. How often it really acted is counted where the effect is.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { HeldServer } from "./held-server.ts";
import { type Dispatcher, HostHome, typesOf, until } from "./hosts.ts";
import { gitIn } from "./repo.ts";
import { acceptFile } from "./trust.ts";

const scriptOf = (act: string) => `
steps:
  - { tool: write_file, with: { path: made.txt, content: made } }
  - { ${act}, as: acted, on_cut: again }
  - { say: "\${acted}" }
`;
const PUSH = "tool: git_push, with: { branch: from-agent }";
const postTo = (url: string) => `tool: http_request, with: { method: POST, url: "${url}", body: hello }`;

const EXTERNAL = "external: [git_push, http_request]";

interface AskedLine {
  readonly session: string;
  readonly kind: string;
  readonly id: string;
  readonly fingerprint: string;
  readonly previous?: string;
  readonly previousOutcome?: string;
}

export class PushHome extends HostHome {
  readonly #server: HeldServer | undefined;

  /** `server`: what the script posts to. Without one, it pushes. */
  constructor(server?: HeldServer) {
    const tools = server ? `tools: { http_request: { hosts: ["localhost:${server.port}"] } }\n` : "";
    super({
      "holdfast.yaml": `lanes: { pushing: { ${EXTERNAL} }, free: { ${EXTERNAL}, approval: [] } }\n${tools}`,
      "a.txt": "one\n",
    });
    this.#server = server;
    execFileSync("git", ["init", "-q", "--bare", this.bare]);
    gitIn(this.main, "remote", "add", "origin", `file://${this.bare}`);
    // Git starts it in the bare repo, for each push that brings something.
    const hook = join(this.bare, "hooks", "pre-receive");
    writeFileSync(hook, "#!/bin/sh\necho pushed >> pushes\n");
    chmodSync(hook, 0o755);
  }

  get bare(): string {
    return this.join("bare.git");
  }

  async begin(lane = "pushing"): Promise<{ readonly dispatcher: Dispatcher; readonly id: string }> {
    const dispatcher = await this.dispatcher();
    if (this.#server) await acceptFile(this);
    await this.run(
      scriptOf(this.#server ? postTo(this.#server.url) : PUSH),
      "--repo",
      this.main,
      "--lane",
      lane,
    );
    const [id = ""] = dispatcher.sessionIds();
    return { dispatcher, id };
  }

  async run(steps: string, ...words: string[]): Promise<void> {
    await this.dispatcher();
    writeFileSync(join(this.dir, "settings.yaml"), "ask_seconds: 0.2\n", { mode: 0o600 });
    writeFileSync(this.join("push.yaml"), steps);
    const lane = words.includes("--lane") ? [] : ["--lane", "pushing"];
    const how = ["run", "--detach", ...lane, "--script", this.join("push.yaml")];
    const { status, stderr } = await this.cli(...how, ...words);
    expect(status, stderr).toBe(0);
  }

  /** How often it acted: pushes that the bare repo took in, or requests that the server heard. */
  effects(): number {
    if (this.#server) return this.#server.heard.length;
    const path = join(this.bare, "pushes");
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").length : 0;
  }

  async pending(id: string): Promise<AskedLine | undefined> {
    const { stdout } = await this.cli("approvals", "--json");
    return (JSON.parse(stdout) as AskedLine[]).find((one) => one.session === id && one.kind === "approval");
  }

  /** What is asked for once more is denied: a person who knows that it may have been done would. */
  async approve(id: string): Promise<number | null> {
    const request = await this.pending(id);
    if (!request) return null;
    if (request.previous !== undefined) return (await this.cli("deny", request.id)).status;
    const yes = ["--yes", "--fingerprint", request.fingerprint];
    return (await this.cli("approve", request.id, ...yes)).status;
  }
}

export const isParked = (dispatcher: Dispatcher, id: string) =>
  until(
    async () => typesOf(dispatcher, id),
    (types) => types.lastIndexOf("task_parked") > types.lastIndexOf("task_unparked"),
  );
