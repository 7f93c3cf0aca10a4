/**
 * Owns the step of `git_push`: a plain push of one commit to one branch, from a gitdir of Holdfast's. The
 * tree, the parent and the message of the commit are compared with those that were approved.
 *
 * push-1 No hook, helper, proxy setting, rewriting rule or redirect has an effect: git reads only the
 *    configuration of this gitdir and its arguments.
 * push-2 Git gets the credential for that address only, in the environment of its process in the sandbox.
 */
import { fileURLToPath } from "node:url";
import { git, gitCommand } from "../../capsule/index.ts";
import { HoldfastError, type Values } from "../../contract/index.ts";
import { base64, GIT_USER } from "../credentials.ts";
import type { Ground, Order } from "../order.ts";
import type { Planner } from "../plan.ts";
import { reachOf } from "../reach.ts";
import { groundOf, runSandboxed } from "./sandboxed.ts";

export interface PushTarget {
  /** `http:`, `https:` with its port, or `file:`. */
  readonly url: string;
  readonly branch: string;
  readonly parent: string | null;
  readonly message: string;
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
  const { gitDir, commit } = await assertCommit(order, ground, target);
  const config = [...OFF, `protocol.${url.protocol.slice(0, -1)}.allow=always`].flatMap((one) => ["-c", one]);
  const refspec = `${commit}:refs/heads/${target.branch}`;
  const of = {
    ground,
    command: gitCommand([
      "--git-dir",
      gitDir,
      ...config,
      "push",
      "--porcelain",
      "--no-verify",
      "--",
      target.url,
      refspec,
    ]),
    readable: [[gitDir, gitDir]] as const,
    timeoutMinutes: order.declaration.timeoutMinutes,
    ...(url.protocol === "file:"
      ? { writable: [fileURLToPath(url)], env: PLAIN, reach: { hosts: [] } }
      : { env: { ...PLAIN, ...credentialFor(url, values) }, reach: reachOf(order.declaration.hosts, url) }),
  };
  return (signal) => runSandboxed(of, signal);
};

const PLAIN = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
};

async function assertCommit({ action }: Order, { pushed }: Ground, { parent, message }: PushTarget) {
  if (!pushed) throw new HoldfastError("tool_failed", "the order has no commit to push");
  const bytes = await git({ gitDir: pushed.gitDir }, ["cat-file", "commit", pushed.commit]);
  const [head = "", ...rest] = bytes.toString("utf8").split("\n\n");
  const lines = head.split("\n").filter((line) => /^(tree|parent) /.test(line));
  const expected = [`tree ${action.tree}`, ...(parent === null ? [] : [`parent ${parent}`])];
  if (lines.join("\n") !== expected.join("\n") || rest.join("\n\n") !== message)
    throw new HoldfastError("grant_invalid", "the commit is not the one that was approved");
  return pushed;
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
