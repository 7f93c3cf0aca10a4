/**
 * Owns `git_push`: pushes the task's work, as one commit on the commit that it began with, to a branch of a
 * remote. The commit has exactly the tree, and is made as publishing would make it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commitWork, giveTo, makePushDir, userIdentity } from "../capsule/index.ts";
import type { Json, JsonObject } from "../contract/index.ts";
import type { ActingTool, Prepared } from "../lane/index.ts";
import type { Sandbox } from "../process/index.ts";
import { branchOf, messageOf } from "../task/index.ts";
import { act } from "./acting.ts";
import { checked } from "./declared.ts";
import { makeGround, sandboxFor } from "./ground.ts";
import type { Declaration, Ground } from "./order.ts";
import type { ActingPlace } from "./place.ts";
import { assertBranch, remoteUrl } from "./remote.ts";
import { assertTextWithoutSecrets, assertWithoutSecrets, type Standing, standingOf } from "./standing.ts";

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
      "Pushes the task's files to a branch of a remote, as one commit on the commit that the task began with. It never force-pushes.",
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
      const { tree, base } = standing;
      const facts = await assertWithoutSecrets(task, standing);
      const message = await messageOf(task.room, task.capsule);
      await assertTextWithoutSecrets(task, [message, branch]);
      const target = { url, branch, parent: base, message };
      const asked = {
        ...{ tool: NAME, input, declaration, args, prepared: { target, tree } },
        makeGround: (signal: AbortSignal) =>
          makePushGround(place, declaration, { ...standing, message, url }, signal),
      };
      return {
        target,
        tree,
        base,
        facts: [
          ["pushes to", `${url} (${remote})`],
          ["as branch", branch],
          ["one commit on", base ?? "nothing"],
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
  { task, home }: ActingPlace,
  { hosts }: Declaration,
  { tree, base, store, message, url }: Standing & { readonly message: string; readonly url: string },
  signal: AbortSignal,
): Promise<Ground> {
  const { repo } = task.room;
  const sandbox = writing(await sandboxFor(task, hosts), url);
  const ground = await makeGround(task, sandbox, { tree: null, signal });
  const identity = await userIdentity(repo);
  const commit = await commitWork(store, { tree, base, message, identity, atMs: home.io.clock.nowMs() });
  const gitDir = join(ground.scratch, "pushed.git");
  await makePushDir({ path: gitDir, repo, store, commit, base });
  giveTo(sandbox.user, gitDir);
  return { ...ground, pushed: { gitDir, commit } };
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
