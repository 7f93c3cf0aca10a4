/**
 * Owns the policy: what in a task's work a person looks at before it is published. It names rules and places; the value
 * of a secret it never names.
 *
 * verify-5 Work that the policy names something in is published only after a person has said so.
 */
import { posix } from "node:path";
import {
  type ChangedFile,
  type FileVersion,
  readChangedFiles,
  type Store,
  treeOf,
} from "../../capsule/index.ts";
import { CONFIG_FILE } from "../../config/index.ts";
import type { PolicyRule } from "../../contract/index.ts";
import { findSecrets } from "../../redaction/index.ts";
import { isCovered, printable } from "../../util/index.ts";
import { readConfig } from "../room/config.ts";
import type { Room } from "../room/room.ts";
import type { Unpublished } from "./publishing.ts";

export interface Finding {
  readonly rule: PolicyRule;
  readonly path: string;
  readonly detail?: string;
}

/** Protected in any case: what decides about other work. A repo's `protect` adds to it. */
const PROTECTED: readonly string[] = [
  CONFIG_FILE,
  ".github/**",
  ".gitlab/**",
  "/.gitlab-ci.yml",
  ".circleci/**",
  ".buildkite/**",
  "/Jenkinsfile",
  "/azure-pipelines.yml",
];
const LARGE_BYTES = 5 * 1024 * 1024;
/** As git looks for it. */
const BINARY_BYTES = 8000;
const MAX_FINDINGS = 100;
const NAMED = 5;

/** That it looked is on record, with what it found; undefined where that is nothing. */
export async function applyPolicy(
  room: Room,
  store: Store,
  { base, tree }: { readonly base: string | null; readonly tree: string },
): Promise<Unpublished | undefined> {
  const { session, repo } = room;
  // Without a repo of the user's nothing is published.
  if (repo.isStandIn) return undefined;
  const { protect } = await readConfig(room, base);
  const findings: Finding[] = [];
  const trees = { from: await treeOf(repo, base), to: tree, maxBytes: LARGE_BYTES };
  for await (const file of readChangedFiles(repo, store, trees))
    findings.push(...(await findingsIn(file, [...PROTECTED, ...protect])));
  const more = findings.length - MAX_FINDINGS;
  await session.append("policy_applied", {
    task: session.state.task?.number ?? 0,
    tree,
    findings: findings.slice(0, MAX_FINDINGS).map((finding) => ({ ...finding })),
    ...(more > 0 && { more }),
  });
  if (findings.length === 0) return undefined;
  return {
    code: "policy",
    reason: `${findingsText(findings)}: look at it, then say holdfast branch --reviewed`,
  };
}

export async function findingsIn(
  { path, before, after }: ChangedFile,
  protect: readonly string[],
): Promise<Finding[]> {
  const found: Finding[] = [];
  const add = (rule: PolicyRule, detail?: string) =>
    found.push({ rule, path, ...(detail !== undefined && { detail }) });
  if (isCovered(path, protect)) add("protected");
  if (before?.kind === "submodule" || after?.kind === "submodule") add("submodule");
  if (!after || after.kind === "submodule") return found;
  if (before && before.kind !== after.kind) add("mode", `${before.kind} became ${after.kind}`);
  if (after.kind === "link") {
    if (leavesTree(path, after)) add("link", "leads out of the tree");
    return found;
  }
  if (after.bytes > LARGE_BYTES) add("large", `${Math.ceil(after.bytes / 1024 / 1024)} MB`);
  else if (isBinary(after)) add("binary");
  if (hasMarkers(after) && !(before && hasMarkers(before))) add("markers");
  const rules = await newSecrets(before, after);
  for (const rule of rules) add("secret", rule);
  return found;
}

function leavesTree(path: string, { content }: FileVersion): boolean {
  const target = content?.toString("utf8") ?? "";
  if (posix.isAbsolute(target)) return true;
  const leads = posix.join(posix.dirname(path), target);
  return leads === ".." || leads.startsWith("../") || leads.split("/").includes(".git");
}

const isBinary = ({ content }: FileVersion) => content?.subarray(0, BINARY_BYTES).includes(0) ?? false;

const MARKERS = ["<<<<<<< ", "=======\n", ">>>>>>> "];

/** As git leaves them where it could not bring two sides together: each at the start of a line, in this order. */
function hasMarkers({ content }: FileVersion): boolean {
  let from = 0;
  return MARKERS.every((marker) => {
    const isFirst = from === 0 && content?.indexOf(marker) === 0;
    const at = isFirst ? 0 : (content?.indexOf(`\n${marker}`, Math.max(0, from - 1)) ?? -1);
    from = at + marker.length;
    return at >= 0;
  });
}

/** The rules and lines of what was not there before: a secret that the base has is not this task's. */
async function newSecrets(before: FileVersion | null, after: FileVersion): Promise<string[]> {
  const text = after.content?.toString("utf8") ?? "";
  const spans = await findSecrets(text);
  if (spans.length === 0) return [];
  const old = before?.content?.toString("utf8") ?? "";
  const fresh = spans.filter(({ start, end }) => !old.includes(text.slice(start, end)));
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  return [...new Set(fresh.map(({ rule, start }) => `${rule}, line ${lineOf(start)}`))];
}

const WORDS: Readonly<Record<PolicyRule, string>> = {
  secret: "a secret in",
  markers: "markers of a conflict in",
  binary: "a binary file,",
  large: "a large file,",
  mode: "a changed mode,",
  submodule: "a submodule,",
  link: "a link that leaves the tree,",
  protected: "a protected path,",
};

function findingsText(findings: readonly Finding[]): string {
  const named = findings.slice(0, NAMED).map(({ rule, path, detail }) => {
    const more = detail === undefined ? "" : ` (${detail})`;
    return `${WORDS[rule]} ${printable(path)}${more}`;
  });
  const left = findings.length > NAMED ? `; and ${findings.length - NAMED} more` : "";
  return `the work has ${named.join("; ")}${left}`;
}
