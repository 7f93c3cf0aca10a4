/**
 * Owns finding the commit of a checkout without starting git: from the files in which git keeps refs. If it
 * does not find the answer there, for example because refs have another form, git must be asked.
 */
import { join } from "node:path";
import { readPlainFile } from "../../util/index.ts";
import type { Repo } from "./repo.ts";

const MAX_REF_BYTES = 4096;
const ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})\n?$/;
const BRANCH = /^ref: (refs\/heads\/[^\0\n]+)\n?$/;

/** Undefined: ask git. */
export function readHead({ headDir, gitDir }: Pick<Repo, "headDir" | "gitDir">): string | undefined {
  const head = readRef(join(headDir, "HEAD"));
  if (head === undefined || ID.test(head)) return head?.trim();
  const branch = BRANCH.exec(head)?.[1];
  // A packed ref is not looked for: it has not moved since it was packed, and git knows it.
  const id = branch === undefined || branch.includes("..") ? undefined : readRef(join(gitDir, branch));
  return id !== undefined && ID.test(id) ? id.trim() : undefined;
}

function readRef(path: string): string | undefined {
  return readPlainFile(path, { maxBytes: MAX_REF_BYTES })?.toString("utf8");
}
