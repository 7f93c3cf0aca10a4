/**
 * Owns the state of a task's work at the moment of an action, and what must not leave with it.
 *
 * worker-6 Work, a commit or a text that contains a secret never leaves with an action: the action is
 *    refused, and no person is asked. The person who is asked is told what else the policy found.
 */
import { openStore, type Store, statOf, treeOf } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { Prepared } from "../lane/index.ts";
import { findSecrets } from "../redaction/index.ts";
import {
  findingsBetween,
  findingsText,
  type TaskInHand,
  valuesBefore,
  valuesInWork,
  workNow,
} from "../task/index.ts";

export interface Standing {
  readonly tree: string;
  /** The commit that its work is published on. */
  readonly base: string | null;
  readonly store: Store;
}

/** Call it while the agent's processes are frozen. It records nothing. */
export async function standingOf({ room, capsule, base }: TaskInHand): Promise<Standing> {
  const { io, repo, sessionDir, session } = room;
  await capsule.attach();
  const work = await workNow({ io, repo, sessionDir }, session.state);
  if (!work) throw new HoldfastError("no_capsule", `session ${session.id} has no capsule now`);
  return { tree: work.tree, base, store: await openStore(repo, io.disk) };
}

/**
 * worker-6: fails with `publish_refused`. Returns what else a person should know. `from`: the tree that it is
 * compared with, if that is not the tree of the base.
 */
export async function assertWithoutSecrets(
  { room }: TaskInHand,
  { tree, base, store }: Standing,
  from: string | null = null,
): Promise<Prepared["facts"]> {
  const held = valuesBefore(room.session.state);
  // Only the tree is searched.
  const found = held ?? (await valuesInWork(room, store, base, { tree, commit: "" }));
  if (found) throw refused(found.reason);
  const findings = await findingsBetween(room, store, { base, tree });
  const secrets = findings.filter(({ rule }) => rule === "secret");
  if (secrets.length > 0) throw refused(findingsText(secrets));
  const { files, insertions, deletions } = await statOf(
    room.repo,
    store,
    from ?? (await treeOf(room.repo, base)),
    tree,
  );
  return [
    ["changes", `${files} files, +${insertions} -${deletions}`],
    ...(findings.length > 0 ? [["look at", findingsText(findings)] as const] : []),
  ];
}

/** For texts that leave: a title, a message. */
export async function assertTextWithoutSecrets(
  { room }: TaskInHand,
  texts: readonly string[],
): Promise<void> {
  const { secrets } = room.session;
  for (const text of texts) {
    const known = secrets.find(({ value }) => text.includes(value));
    if (known) throw refused(`its text contains the value of ${known.name}`);
    const [found] = await findSecrets(text);
    if (found) throw refused(`its text contains a secret (${found.rule})`);
  }
}

const refused = (why: string) => new HoldfastError("publish_refused", `nothing was sent: ${why}`);
