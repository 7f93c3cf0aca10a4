/**
 * A home whose repo has a remote, and a script that writes a file and pushes it in a lane that asks.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Dispatcher, HostHome, typesOf, until } from "./hosts.ts";
import { gitIn } from "./repo.ts";

const STEPS = `
steps:
  - { tool: write_file, with: { path: made.txt, content: made } }
  - { tool: git_push, with: { branch: from-agent }, as: pushed, on_cut: again }
  - { say: "\${pushed}" }
`;

export class PushHome extends HostHome {
  constructor() {
    super({ "holdfast.yaml": "lanes: { pushing: { external: [git_push] } }\n", "a.txt": "one\n" });
    execFileSync("git", ["init", "-q", "--bare", this.bare]);
    gitIn(this.main, "remote", "add", "origin", `file://${this.bare}`);
  }

  get bare(): string {
    return this.join("bare.git");
  }

  async begin(): Promise<{ readonly dispatcher: Dispatcher; readonly id: string }> {
    const dispatcher = await this.dispatcher();
    writeFileSync(join(this.dir, "settings.yaml"), "ask_seconds: 0.2\n", { mode: 0o600 });
    writeFileSync(this.join("push.yaml"), STEPS);
    const words = ["run", "--detach", "--repo", this.main, "--lane", "pushing"];
    const { stdout, stderr } = await this.cli(...words, "--script", this.join("push.yaml"));
    expect(stdout.trim(), stderr).toBe("push-yaml");
    const [id = ""] = dispatcher.sessionIds();
    return { dispatcher, id };
  }

  /** How often the branch was pushed to, by the number of its commits since the base. */
  pushes(): number {
    const tips = gitIn(this.bare, "for-each-ref", "--format=%(refname)");
    return tips === "" ? 0 : Number(gitIn(this.bare, "rev-list", "--count", "from-agent")) - 1;
  }

  async approve(id: string): Promise<number | null> {
    const { stdout } = await this.cli("approvals", "--json");
    const request = (
      JSON.parse(stdout) as { session: string; kind: string; id: string; fingerprint: string }[]
    ).find((one) => one.session === id && one.kind === "approval");
    if (!request) return null;
    const yes = ["--yes", "--fingerprint", request.fingerprint];
    return (await this.cli("approve", request.id, ...yes)).status;
  }
}

export const isParked = (dispatcher: Dispatcher, id: string) =>
  until(
    async () => typesOf(dispatcher, id),
    (types) => types.lastIndexOf("task_parked") > types.lastIndexOf("task_unparked"),
  );
