/**
 * Owns `gh_pr_create`: opens a pull request at GitHub with the user's own `gh`. It pushes nothing, so the
 * branch must exist.
 *
 * pull-1 The files that a person is shown are those that the session pushed to the branch. If the session has
 *    other files now, it is refused. If the session did not push the branch, no files are shown, and that is
 *    said.
 */
import type { Json, JsonObject } from "../contract/index.ts";
import { HoldfastError, isHoldfastError } from "../contract/index.ts";
import type { ActingTool, Prepared } from "../lane/index.ts";
import type { Sandbox } from "../process/index.ts";
import { branchOf, type Executable, findExecutable } from "../task/index.ts";
import { act } from "./acting.ts";
import { checked } from "./declared.ts";
import { textIn } from "./git-push.ts";
import { makeGround, sandboxFor } from "./ground.ts";
import type { Declaration } from "./order.ts";
import type { ActingPlace } from "./place.ts";
import { lastPushed } from "./pushed-before.ts";
import { assertBranch, remoteUrl } from "./remote.ts";
import { assertTextWithoutSecrets, assertWithoutSecrets, standingOf } from "./standing.ts";

const NAME = "gh_pr_create";
const input: JsonObject = {
  type: "object",
  properties: {
    title: { type: "string", minLength: 1, maxLength: 1000 },
    body: { type: "string", maxLength: 60_000 },
    base: { type: "string", description: "The branch that it is to go into. Default: the repo's own." },
    head: { type: "string", description: "The branch that was pushed. Default: the session's own branch." },
    draft: { type: "boolean" },
  },
  required: ["title", "body"],
  additionalProperties: false,
};

export function ghPrCreate(place: ActingPlace, declaration: Declaration): ActingTool {
  return {
    name: NAME,
    class: "external",
    description: "Opens a pull request at GitHub from a branch that was pushed before. It does not push.",
    input,
    declaration: { ...declaration } as unknown as Json,
    prepare: async (args) => {
      await checked(NAME, input, args);
      const { task } = place;
      const head = textIn(args, "head") ?? branchOf(task.room.session.state);
      const base = textIn(args, "base") ?? null;
      for (const branch of [head, ...(base === null ? [] : [base])]) assertBranch(NAME, branch);
      const url = await remoteUrl(task.room.repo, "origin");
      const repo = githubRepo(url);
      const sandbox = await sandboxFor(task, declaration.hosts);
      const executable = await findGh(sandbox);
      const standing = await standingOf(task);
      const facts = await assertWithoutSecrets(task, standing);
      await assertTextWithoutSecrets(task, [String(args["title"]), String(args["body"]), head]);
      const pushed = await lastPushed(task, standing.store, { url, branch: head });
      if (pushed && pushed.tree !== standing.tree)
        throw new HoldfastError(
          "tool_failed",
          `the files are not those that were pushed to ${head}, as ${pushed.commit}: push them first, with git_push`,
        );
      const tree = pushed ? standing.tree : null;
      const commit = pushed?.commit ?? null;
      const isDraft = args["draft"] === true;
      const target = { executable: { ...executable }, repo, head, commit, base, isDraft };
      const asked = {
        ...{ tool: NAME, input, declaration, args, prepared: { target, tree } },
        makeGround: (signal: AbortSignal) => makeGround(task, sandbox, { tree: null, signal }),
      };
      return {
        target,
        tree,
        base: pushed ? standing.base : null,
        facts: [
          ["pull request at", `github.com/${repo}`],
          ["from branch", head],
          ["with", commit ?? "whatever is on that branch there: this session did not push it"],
          ["into", base ?? "the repo's own branch"],
          ...(pushed ? facts : []),
        ],
        act: (grant, call) => act(place, asked, grant, call),
      } satisfies Prepared;
    },
  };
}

async function findGh(sandbox: Sandbox): Promise<Executable> {
  try {
    return await findExecutable(sandbox, "gh", null);
  } catch (error) {
    if (!isHoldfastError(error, "program_missing")) throw error;
    throw new HoldfastError("program_missing", "gh is not on your PATH: install it from cli.github.com", {
      program: "gh",
    });
  }
}

function githubRepo(url: string): string {
  const [, repo] = /^https?:\/\/github\.com:\d+\/([\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/.exec(url) ?? [];
  if (repo === undefined)
    throw new HoldfastError(
      "tool_failed",
      "the remote origin is not a repo at https://github.com, which a pull request needs",
    );
  return repo;
}
