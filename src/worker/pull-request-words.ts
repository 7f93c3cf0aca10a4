/**
 * Owns the arguments of `gh pr create`. Title and body are published, so they are in the fingerprint.
 */
import type { Action } from "../contract/index.ts";
import type { ProgramTarget } from "../task/index.ts";

export interface PullRequestTarget extends ProgramTarget {
  /** OWNER/NAME. */
  readonly repo: string;
  readonly head: string;
  /** Null: the repo's default branch. */
  readonly base: string | null;
  readonly isDraft: boolean;
}

/** The body is sent to its input. All that gh would otherwise read from a repo is given as arguments. */
export function pullRequestWords({ args, target }: Pick<Action, "args" | "target">): string[] {
  const { repo, head, base, isDraft } = target as unknown as PullRequestTarget;
  return [
    ...["pr", "create", "--repo", repo, "--head", head, "--title", String(args["title"]), "--body-file", "-"],
    ...(base === null ? [] : ["--base", base]),
    ...(isDraft ? ["--draft"] : []),
  ];
}
