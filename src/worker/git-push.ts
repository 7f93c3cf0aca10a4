/**
 * Owns `git_push`: pushes the task's work, as one commit, to a branch of a remote. The commit has exactly the
 * tree, and the message that publishing would give it. It stands on the commit that the task began with, or
 * on what the session pushed to that branch before.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commitWork, GIT, giveTo, makePushDir, type Store, userIdentity } from "../capsule/index.ts";
import { HoldfastError, type Json, type JsonObject } from "../contract/index.ts";
import type { ActingTool, Prepared } from "../lane/index.ts";
import type { Sandbox } from "../process/index.ts";
import { branchOf, findExecutable, messageOf } from "../task/index.ts";
import { act } from "./acting.ts";
import { checked } from "./declared.ts";
import { makeGround, sandboxFor } from "./ground.ts";
import type { Declaration, Ground } from "./order.ts";
import type { ActingPlace } from "./place.ts";
import { footingOf } from "./pushed-before.ts";
import { assertBranch, remoteUrl } from "./remote.ts";
import { assertTextWithoutSecrets, assertWithoutSecrets, standingOf } from "./standing.ts";

const NAME = "git_push";
const input: JsonObject = {
  type: "object",
  properties: {
    remote: { type: "string", description: "A remote of the user's repo. Default: origin." },
    branch: { type: "string", description: "The branch there. Default: the session's own branch." },
  },
  additionalProperties: false,
};

export function gitPush(place: ActingPlace, declaration: Declaration): ActingTool {
  return {
    name: NAME,
    class: "external",
    description:
      "Pushes the task's files to a branch of a remote, as one commit on what the session pushed there before, or on the commit that the task began with. It never force-pushes.",
    input,
    declaration: { ...declaration } as unknown as Json,
    prepare: async (args) => {
      await checked(NAME, input, args);
      const { task } = place;
      const remote = textIn(args, "remote") ?? "origin";
      const branch = textIn(args, "branch") ?? branchOf(task.room.session.state);
      assertBranch(NAME, branch);
      const url = await remoteUrl(task.room.repo, remote);
      const standing = await standingOf(task);
      const { tree, store } = standing;
      const { parent, pushedTree, root, atMs } = await footingOf(task, store, { url, branch });
      if (pushedTree === tree)
        throw new HoldfastError(
          "tool_failed",
          `${branch} there already has exactly these files: nothing to push`,
        );
      const facts = await assertWithoutSecrets(task, standing, pushedTree);
      const message = await messageOf(task.room, task.capsule);
      await assertTextWithoutSecrets(task, [message, branch]);
      const sandbox = writing(await sandboxFor(task, declaration.hosts), url);
      const executable = await findExecutable(sandbox, GIT, null);
      const identity = await userIdentity(task.room.repo);
      const commit = await commitWork(store, { tree, base: parent, message, identity, atMs });
      const target = { url, branch, commit, parent, message, executable: { ...executable } };
      const asked = {
        ...{ tool: NAME, input, declaration, args, prepared: { target, tree } },
        makeGround: (signal: AbortSignal) => makePushGround(place, sandbox, { store, commit, root }, signal),
      };
      return {
        target,
        tree,
        base: parent,
        facts: [
          ["pushes to", `${url} (${remote})`],
          ["as branch", branch],
          ["one commit on", `${parent ?? "nothing"}${pushedTree === null ? "" : ", pushed there before"}`],
          ["says", message.split("\n")[0] ?? ""],
          ...facts,
        ],
        act: (grant, call) => act(place, asked, grant, call),
      } satisfies Prepared;
    },
  };
}

export function textIn(args: JsonObject, name: string): string | undefined {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
}

async function makePushGround(
  { task }: ActingPlace,
  sandbox: Sandbox,
  { store, commit, root }: { readonly store: Store; readonly commit: string; readonly root: string | null },
  signal: AbortSignal,
): Promise<Ground> {
  const ground = await makeGround(task, sandbox, { tree: null, signal });
  const gitDir = join(ground.scratch, "pushed.git");
  // Git on the other side has the parent, and git here has to know it.
  await makePushDir({ path: gitDir, repo: task.room.repo, store, commit, base: root });
  giveTo(sandbox.user, gitDir);
  return { ...ground, pushed: { gitDir } };
}

/**
 * For root, a repo on this machine is written as its owner, because the user of root's tasks could not write
 * there.
 */
function writing(sandbox: Sandbox, url: string): Sandbox {
  if (!url.startsWith("file:") || process.getuid?.() !== 0) return sandbox;
  const { uid, gid } = statSync(fileURLToPath(url));
  return { ...sandbox, user: uid === 0 ? undefined : { uid, gid } };
}
