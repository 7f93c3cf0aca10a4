/**
 * `gh_pr_create` with a program in the place of gh, which prints what it was given: its arguments, its input and its
 * environment.
 */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fingerprintOf } from "../../src/approval/index.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { turn } from "../support/tasks.ts";

const TOKEN = "planted-token-4711-of-the-user";
/** Not below /tmp, because a sandbox does not show the user's files there. */
const PROGRAMS = join(realpathSync(join(import.meta.dirname, "../../node_modules")), ".holdfast-test-gh");
const GO = join(PROGRAMS, "go");

function gh(text: string): void {
  const path = join(PROGRAMS, "gh");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

const TELLS = `for word in "$@"; do echo "word: $word"; done
echo "input: $(cat)"
echo "token: \${#GH_TOKEN} $GH_TOKEN"
echo "prompts: $GH_PROMPT_DISABLED, files: $(ls | wc -l)"
[ ! -e .git ] && echo no repo`;

const body = "It was broken.\n\n- now it is not; $(touch planted) `touch planted`";
const args = { title: "Mend --the 'parser'", body };

/** The words of each process that has the text in its environment at this moment. */
function processesWith(text: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const hasIt = readFileSync(`/proc/${pid}/environ`, "latin1").includes(text);
      return hasIt ? [readFileSync(`/proc/${pid}/cmdline`, "latin1")] : [];
    } catch {
      // It has ended.
      return [];
    }
  });
}

async function begin(home: ActingHome, config = "", script?: string): Promise<void> {
  gitIn(home.main, "remote", "add", "origin", "https://github.com/ani/parser.git");
  await home.begin(`${config}`, script);
  const path = besideHome(home, "token");
  writeFileSync(path, `${TOKEN}\n`, { mode: 0o600 });
  const settings = `variables: { GH_TOKEN: { file: ${path} } }\n`;
  writeFileSync(join(home.dir, "settings.yaml"), settings, { mode: 0o600 });
}

describe("gh_pr_create", () => {
  beforeEach(() => {
    mkdirSync(PROGRAMS, { recursive: true });
    gh(TELLS);
    vi.stubEnv("PATH", `${PROGRAMS}:${process.env["PATH"]}`);
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(PROGRAMS, { recursive: true, force: true });
  });

  it("worker-1 gives gh exactly the words, the text and the branch that were approved", async () => {
    await using home = new ActingHome();
    await begin(home);
    const { prepared, action } = await home.prepare("gh_pr_create", { ...args, base: "main", draft: true });
    expect(prepared.target).toMatchObject({ repo: "ani/parser", base: "main", isDraft: true });
    const { outcome, text } = await prepared.act(await home.grant(action), quiet());
    expect(outcome, text).toBe("ok");
    const branch = (prepared.target as { head: string }).head;
    expect(branch).toMatch(/^holdfast\//);
    const words = ["pr", "create", "--repo", "ani/parser", "--head", branch, "--title", args.title];
    words.push("--body-file", "-", "--base", "main", "--draft");
    expect(text.split("\n").filter((line) => line.startsWith("word: "))).toEqual(
      words.map((word) => `word: ${word}`),
    );
    expect(text).toContain(`input: ${body}\n`);
    // It works in an empty directory: nothing of the task's files or git can lead it elsewhere.
    expect(text).toContain("prompts: 1, files: 0\nno repo");
  });

  it("worker-4 only gh's own process has the token, and no file or outcome has it", async () => {
    await using home = new ActingHome();
    await begin(home);
    gh(`while [ ! -e ${GO} ]; do sleep 0.05; done\n${TELLS}`);
    const { prepared, action } = await home.prepare("gh_pr_create", args);
    const acting = prepared.act(await home.grant(action), quiet());
    const found = await until(
      () => processesWith(TOKEN),
      (all) => all.length > 0,
    );
    for (const words of found) {
      expect(words).not.toMatch(/(worker|host|cli)\/main|vitest/);
      expect(words).not.toContain(TOKEN);
    }
    writeFileSync(GO, "");
    const { outcome, text } = await acting;
    expect(outcome, text).toBe("ok");
    expect(text).toContain(`token: ${TOKEN.length} [redacted:env:GH_TOKEN]`);
    expect(home.filesWith(TOKEN)).toEqual([]);
  });

  it("worker-1 is another action, or is refused, once gh was swapped while it was held", async () => {
    await using home = new ActingHome();
    await begin(home);
    const { prepared, action } = await home.prepare("gh_pr_create", args);
    const grant = await home.grant(action);
    gh("echo swapped");
    const again = await home.prepare("gh_pr_create", args);
    expect(fingerprintOf(again.action)).not.toBe(fingerprintOf(action));
    expect(await prepared.act(grant, quiet())).toMatchObject({
      outcome: "refused",
      facts: { code: "grant_invalid" },
    });
    // Nothing was spent.
    gh(TELLS);
    expect(await prepared.act(grant, quiet())).toMatchObject({ outcome: "ok" });
  });

  it("pull-1 shows the files that the session pushed, and is refused once there are others", async () => {
    await using home = new ActingHome();
    await begin(home);
    const head = "work";
    const unknown = await home.prepare("gh_pr_create", { ...args, head });
    expect(unknown.prepared).toMatchObject({ tree: null, base: null, target: { commit: null } });
    expect(unknown.prepared.facts).toContainEqual(["with", expect.stringContaining("did not push it")]);
    // A commit of the work's files, as a push would have made it.
    writeFileSync(join(home.main, "a.txt"), "two\n");
    gitIn(home.main, "commit", "-qam", "pushed");
    const commit = gitIn(home.main, "rev-parse", "HEAD");
    const url = "https://github.com:443/ani/parser.git";
    const pushed = async (branch: string) =>
      home.session.append("action_ended", {
        ...{ approval: "appr_1", task: 1, tool: "git_push", outcome: "ok" },
        facts: { url, branch, commit },
      });
    await pushed("elsewhere");
    expect(fingerprintOf((await home.prepare("gh_pr_create", { ...args, head })).action)).toBe(
      fingerprintOf(unknown.action),
    );
    await pushed(head);
    const known = await home.prepare("gh_pr_create", { ...args, head });
    expect(known.prepared).toMatchObject({
      target: { commit },
      tree: gitIn(home.main, "rev-parse", "HEAD^{tree}"),
    });
    expect(fingerprintOf(known.action)).not.toBe(fingerprintOf(unknown.action));
    await turn(home.task, "echo three > a.txt");
    await expect(home.prepare("gh_pr_create", { ...args, head })).rejects.toMatchObject({
      code: "tool_failed",
      message: expect.stringContaining(commit),
    });
  });

  it("worker-6 is refused before a person is asked if the work, the title or the body has a secret in it", async () => {
    await using home = new ActingHome();
    await begin(home);
    const key = `ghp_${"a1B2c3D4e5".repeat(3)}f6G7h8`;
    const refused = { code: "publish_refused" };
    for (const bad of [{ title: key }, { body: `see ${key}` }, { head: key }])
      await expect(home.prepare("gh_pr_create", { ...args, ...bad })).rejects.toMatchObject(refused);
    await turn(home.task, `echo 'token = "${key}"' > settings.ini`);
    await expect(home.prepare("gh_pr_create", args)).rejects.toMatchObject(refused);
  });

  it("needs a remote at github.com, branches that can be ones, and gh", async () => {
    await using home = new ActingHome();
    await begin(home);
    const repoOf = async (url: string) => {
      gitIn(home.main, "config", "remote.origin.url", url);
      return home.prepare("gh_pr_create", args).then(
        ({ prepared }) => (prepared.target as { repo: string }).repo,
        (error: Error) => error.message,
      );
    };
    for (const url of [
      "https://github.com/ani/parser",
      "https://github.com/ani/parser/",
      "https://github.com/ani/parser.git",
    ])
      expect(await repoOf(url), url).toBe("ani/parser");
    expect(await repoOf("https://github.com/ani/my.parser-2.git")).toBe("ani/my.parser-2");
    for (const url of [
      "https://github.com.example.org/ani/parser",
      "https://example.org/github.com/ani/parser",
      "https://github.com/ani",
      "https://github.com/ani/parser/pulls",
      "https://github.com/--repo/x y",
      "https://github.com/ani/parser?x=y",
    ])
      expect(await repoOf(url), url).toContain("which a pull request needs");
    await repoOf("https://github.com/ani/parser");
    for (const bad of [{ head: "-f" }, { base: "a..b" }, { title: "" }, { labels: ["x"] }])
      await expect(home.prepare("gh_pr_create", { ...args, ...bad })).rejects.toMatchObject({
        code: "arguments_invalid",
      });
    rmSync(join(PROGRAMS, "gh"));
    if (!(process.env["PATH"] ?? "").split(":").some((dir) => hasGh(dir)))
      await expect(home.prepare("gh_pr_create", args)).rejects.toMatchObject({ code: "program_missing" });
  });
});

function hasGh(dir: string): boolean {
  try {
    return readdirSync(dir).includes("gh");
  } catch {
    return false;
  }
}
