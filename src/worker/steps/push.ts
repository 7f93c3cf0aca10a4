/**
 * Owns the step of `git_push`: a plain push of one commit to one branch, from a gitdir of Holdfast's. The
 * commit is the one that was approved, byte for byte, and so is git.
 *
 * push-1 No hook, helper, proxy setting, rewriting rule or redirect has an effect: git reads only the
 *    configuration of this gitdir and its arguments.
 * push-2 Git gets the credential for that address only, in the environment of its process in the sandbox.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { git } from "../../capsule/index.ts";
import { HoldfastError, type Values } from "../../contract/index.ts";
import type { ToolOutcome } from "../../lane/index.ts";
import { assertSame, type ProgramTarget } from "../../task/index.ts";
import { base64, GIT_USER } from "../credentials.ts";
import type { Ground, Order } from "../order.ts";
import type { Planner } from "../plan.ts";
import type { PushFacts } from "../pushed-before.ts";
import { reachOf } from "../reach.ts";
import { groundOf, runSandboxed } from "./sandboxed.ts";

export interface PushTarget extends ProgramTarget {
  /** `http:`, `https:` with its port, or `file:`. */
  readonly url: string;
  readonly branch: string;
  readonly commit: string;
}

/** push-1 */
const OFF = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "credential.helper=",
  "core.askPass=",
  "core.sshCommand=false",
  "http.followRedirects=false",
  "http.sslVerify=true",
  "protocol.allow=never",
  "push.gpgSign=false",
  "push.followTags=false",
  "push.recurseSubmodules=no",
  "submodule.recurse=false",
  "gc.auto=0",
  "safe.directory=*",
];

export const planPush: Planner = async (order, values) => {
  const ground = groundOf(order.ground);
  const target = order.action.target as unknown as PushTarget;
  const url = new URL(target.url);
  const { executable, branch, commit } = target;
  const gitDir = await assertCommit(order, ground, target);
  if (!("path" in executable)) throw new HoldfastError("tool_failed", "the order does not name git");
  await assertSame(executable);
  const config = [...OFF, `protocol.${url.protocol.slice(0, -1)}.allow=always`].flatMap((one) => ["-c", one]);
  const refspec = `${commit}:refs/heads/${branch}`;
  const of = {
    ground,
    command: [
      executable.path,
      ...["--git-dir", gitDir, ...config],
      ...["push", "--porcelain", "--no-verify", "--", target.url, refspec],
    ],
    readable: [[gitDir, gitDir]] as const,
    timeoutMinutes: order.declaration.timeoutMinutes,
    ...(url.protocol === "file:"
      ? { writable: [fileURLToPath(url)], env: PLAIN, reach: { hosts: [] } }
      : { env: { ...PLAIN, ...credentialFor(url, values) }, reach: reachOf(order.declaration.hosts, url) }),
  };
  return async (signal) => told(await runSandboxed(of, signal), { url: target.url, branch, commit });
};

/** Git's answer, with what a later push has to know. */
function told({ outcome, text, facts }: ToolOutcome, pushed: PushFacts): ToolOutcome {
  if (outcome === "ok") return { outcome, text, facts: { ...facts, ...pushed } };
  const isBehind = /^!\t.*\[rejected\]/m.test(text);
  const why = `holdfast: ${pushed.branch} there has commits that this one does not stand on, so it was left as it is: push to another branch`;
  return { outcome, text: isBehind ? `${text}\n${why}` : text, ...(facts && { facts }) };
}

const PLAIN = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
};

/** Returns its gitdir. The id of a commit is the hash of its bytes, which name its tree. */
async function assertCommit({ action }: Order, { pushed }: Ground, { commit }: PushTarget): Promise<string> {
  if (!pushed) throw new HoldfastError("tool_failed", "the order has no commit to push");
  const bytes = await git({ gitDir: pushed.gitDir }, ["cat-file", "commit", commit]);
  const hash = createHash(commit.length === 40 ? "sha1" : "sha256");
  const id = hash.update(`commit ${bytes.length}\0`).update(bytes).digest("hex");
  if (id !== commit || !bytes.toString("latin1").startsWith(`tree ${action.tree}\n`))
    throw new HoldfastError("grant_invalid", "the commit is not the one that was approved");
  return pushed.gitDir;
}

/** push-2 */
function credentialFor({ origin }: URL, values: Values): Values {
  const { GIT_TOKEN: token, GIT_USERNAME: user } = values;
  if (!token) return {};
  return {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `http.${origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${base64(`${user || GIT_USER}:${token}`)}`,
  };
}
