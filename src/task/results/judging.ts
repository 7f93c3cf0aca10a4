/**
 * Owns judging the commits that an agent made itself, while they are in quarantine: what in any of them a
 * person has to review before the user's repo gets them.
 *
 * keep-3 Every file that one of these commits brings, and all of its text, is judged like published work. The
 *    content of the published work was judged with it.
 */
import { isUtf8 } from "node:buffer";
import {
  type CommitToJudge,
  type ReadCommit,
  readChangedFiles,
  type Store,
  treeOf,
  versionsBetween,
} from "../../capsule/index.ts";
import { findSecrets } from "../../redaction/index.ts";
import type { Room } from "../room/room.ts";
import {
  type Finding,
  findingsIn,
  findingsText,
  LARGE_BYTES,
  protectedPaths,
  recordFindings,
} from "./policy.ts";

/** Control characters that a terminal would act on, and those that make it show other text in another order. */
const CONTROLS = /[^\P{Cc}\n\r\t]|\r(?!\n)|\p{Bidi_Control}/u;
/** Why commits of an agent that was given variables need a review. */
export const UNSEARCHED =
  "the agent made its commits while it had values of yours in its environment, and commits are not searched for them";
const UTF_8 = /^utf-?8$/i;

export interface JudgedFor {
  /** The commit that the work is compared with. Its file names the protected paths. */
  readonly base: string | null;
  /** A commit whose difference from the base was judged before; null if there is none. */
  readonly judged: string | null;
}

/** Records what was found, and returns it in words; undefined when it is nothing. */
export async function judgeCommits(
  room: Room,
  quarantine: Store,
  commits: readonly CommitToJudge[],
  { base, judged }: JudgedFor,
): Promise<string | undefined> {
  const { session, repo } = room;
  const protect = await protectedPaths(room, base);
  const from = await treeOf(repo, base);
  const without = await versionsBetween(repo, quarantine, from, judged ? await treeOf(repo, judged) : from);
  const findings: Finding[] = [];
  for (const commit of commits) {
    const { id, tree: to, onTree } = commit;
    const where = `in commit ${id.slice(0, 12)}`;
    const trees = { from: onTree, to, maxBytes: LARGE_BYTES, without };
    for await (const file of readChangedFiles(repo, quarantine, trees))
      for (const { detail, ...finding } of await findingsIn(file, protect))
        findings.push({ ...finding, detail: detail === undefined ? where : `${detail}, ${where}` });
    findings.push(...(await findingsInText(commit)));
  }
  await recordFindings(session, commits.at(-1)?.tree ?? from, findings);
  return findings.length === 0 ? undefined : findingsText(findings);
}

async function findingsInText(commit: ReadCommit): Promise<Finding[]> {
  const { id, headers, message, encoding } = commit;
  const path = `commit ${id.slice(0, 12)}`;
  const bytes = Buffer.from(`${headers}\n\n${message}`, "latin1");
  const text = bytes.toString("utf8");
  const rules = new Set((await findSecrets(text)).map(({ rule }) => rule));
  const secrets = [...rules].map((rule) => ({ rule: "secret" as const, path, detail: `${rule}, its text` }));
  // In another encoding, git shows other characters than those that were looked at.
  const isElse = (encoding !== undefined && !UTF_8.test(encoding)) || !isUtf8(bytes);
  if (isElse) return [...secrets, { rule: "message", path, detail: "in an encoding other than UTF-8" }];
  return CONTROLS.test(text) ? [...secrets, { rule: "message", path }] : secrets;
}
