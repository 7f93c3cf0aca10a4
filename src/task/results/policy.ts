/**
 * Owns the policy: what in a task's work a person has to review before it is published. It reports rules and
 * places, and never the value of a secret.
 *
 * verify-5 Work in which the policy finds something is published only after a person has reviewed it.
 */
import { posix } from "node:path";
import {
  type ChangedFile,
  type DiffStat,
  type FileVersion,
  hooksInTree,
  readChangedFiles,
  type Store,
  treeOf,
} from "../../capsule/index.ts";
import { CONFIG_FILE } from "../../config/index.ts";
import type { PolicyRule } from "../../contract/index.ts";
import { findSecrets } from "../../redaction/index.ts";
import type { Session } from "../../session/index.ts";
import { isCovered, printable } from "../../util/index.ts";
import { readConfig } from "../room/config.ts";
import type { Room } from "../room/room.ts";
import type { Unpublished } from "./publishing.ts";

export interface Finding {
  readonly rule: PolicyRule;
  readonly path: string;
  readonly detail?: string;
}

/**
 * Always protected, because these files affect other work, or what git runs on the user's machine. A repo's
 * `protect` adds more.
 */
const PROTECTED: readonly string[] = [
  CONFIG_FILE,
  "/.github",
  "/.gitlab",
  "/.gitlab-ci.yml",
  "/.circleci",
  "/.buildkite",
  "/.forgejo",
  "/.gitea",
  "/.husky",
  "/.githooks",
  ".gitattributes",
  ".gitmodules",
  ".lfsconfig",
  "CODEOWNERS",
  "/.woodpecker*",
  "/.drone.yml",
  "/.travis.yml",
  "/azure-pipelines.yml",
  "/bitbucket-pipelines.yml",
  "Jenkinsfile*",
];
type ChangeSize = Pick<DiffStat, "files" | "insertions" | "deletions">;

export const LARGE_BYTES = 5 * 1024 * 1024;
/** How many bytes git looks at to decide whether a file is binary. */
const BINARY_BYTES = 8000;
const MAX_FINDINGS = 100;
const NAMED = 5;

export async function protectedPaths(room: Room, base: string | null): Promise<readonly string[]> {
  const hooks = await hooksInTree(room.repo);
  const own = hooks === undefined ? [] : [`/${hooks}`];
  return [...PROTECTED, ...own, ...(await readConfig(room, base)).protect];
}

/** Records that the policy was applied, and what it found. Undefined when it found nothing. */
export async function applyPolicy(
  room: Room,
  store: Store,
  { base, tree, stat }: { readonly base: string | null; readonly tree: string; readonly stat: ChangeSize },
): Promise<Unpublished | undefined> {
  const { session, repo } = room;
  // Without a repo of the user, nothing is published.
  if (repo.isStandIn) return undefined;
  const findings = await findingsBetween(room, store, { base, tree });
  await recordFindings(session, tree, findings, stat);
  if (findings.length === 0) return undefined;
  return {
    code: "policy",
    reason: `${findingsText(findings)}: review it, then publish it with holdfast branch --reviewed`,
  };
}

export async function recordFindings(
  session: Session,
  tree: string,
  findings: readonly Finding[],
  size?: ChangeSize,
): Promise<void> {
  const more = findings.length - MAX_FINDINGS;
  await session.append("policy_applied", {
    task: session.state.task?.number ?? 0,
    tree,
    findings: findings.slice(0, MAX_FINDINGS).map((finding) => ({ ...finding })),
    ...(more > 0 && { more }),
    ...(size && { stat: { files: size.files, insertions: size.insertions, deletions: size.deletions } }),
  });
}

/** Everything in the difference from the base that a person should review. */
export async function findingsBetween(
  room: Room,
  store: Store,
  { base, tree }: { readonly base: string | null; readonly tree: string },
): Promise<Finding[]> {
  const { repo } = room;
  const protect = await protectedPaths(room, base);
  const findings: Finding[] = [];
  const trees = { from: await treeOf(repo, base), to: tree, maxBytes: LARGE_BYTES };
  for await (const file of readChangedFiles(repo, store, trees))
    findings.push(...(await findingsIn(file, protect)));
  return findings;
}

export async function findingsIn(
  { path, before, after }: ChangedFile,
  protect: readonly string[],
): Promise<Finding[]> {
  const found: Finding[] = [];
  const inPath = before ? [] : await findSecrets(path);
  const shown = inPath.reduceRight(
    (text, { start, end, rule }) => `${text.slice(0, start)}[${rule}]${text.slice(end)}`,
    path,
  );
  const add = (rule: PolicyRule, detail?: string) =>
    found.push({ rule, path: shown, ...(detail !== undefined && { detail }) });
  for (const { rule } of inPath) add("secret", `${rule}, in its name`);
  if (isCovered(path, protect)) add("protected");
  if (before?.kind === "submodule" || after?.kind === "submodule") add("submodule");
  if (!after || after.kind === "submodule") return found;
  if (before && before.kind !== after.kind) add("mode", `${before.kind} became ${after.kind}`);
  if (after.kind === "link") {
    if (leavesTree(path, after)) add("link", "leads out of the tree");
    const inTarget = new Set((await newSecrets(before, after)).map(({ rule }) => rule));
    for (const rule of inTarget) add("secret", `${rule}, where it leads`);
    return found;
  }
  if (after.bytes > LARGE_BYTES) add("large", `${Math.ceil(after.bytes / 1024 / 1024)} MB`);
  else if (isBinary(after)) add("binary");
  if (hasMarkers(after) && !(before && hasMarkers(before))) add("markers");
  const secrets = await newSecrets(before, after);
  const places = new Set(secrets.map(({ rule, line }) => `${rule}, line ${line}`));
  for (const place of places) add("secret", place);
  return found;
}

function leavesTree(path: string, { content }: FileVersion): boolean {
  const target = content?.toString("utf8") ?? "";
  if (posix.isAbsolute(target)) return true;
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  // A name may be that of another link: `..` after it leads up from where that link leads.
  const down = parts.findIndex((part) => part !== "..");
  if (down >= 0 && parts.includes("..", down)) return true;
  const leads = posix.join(posix.dirname(path), target);
  return leads === ".." || leads.startsWith("../") || leads.split("/").includes(".git");
}

const isBinary = ({ content }: FileVersion) => content?.subarray(0, BINARY_BYTES).includes(0) ?? false;

const MARKERS = ["<<<<<<< ", "=======\n", ">>>>>>> "];

/**
 * The markers that git writes where it could not merge two sides: each at the start of a line, in this order.
 */
function hasMarkers({ content }: FileVersion): boolean {
  let from = 0;
  return MARKERS.every((marker) => {
    const isFirst = from === 0 && content?.indexOf(marker) === 0;
    const at = isFirst ? 0 : (content?.indexOf(`\n${marker}`, Math.max(0, from - 1)) ?? -1);
    from = at + marker.length;
    return at >= 0;
  });
}

/** The secrets that are new. A secret that the base already has is not from this task. */
async function newSecrets(
  before: FileVersion | null,
  after: FileVersion,
): Promise<{ readonly rule: string; readonly line: number }[]> {
  const text = after.content?.toString("utf8") ?? "";
  const spans = await findSecrets(text);
  if (spans.length === 0) return [];
  const old = before?.content?.toString("utf8") ?? "";
  const fresh = spans.filter(({ start, end }) => !old.includes(text.slice(start, end)));
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  return fresh.map(({ rule, start }) => ({ rule, line: lineOf(start) }));
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
  message: "text that is not plain in",
};

export function findingsText(findings: readonly Finding[]): string {
  const named = findings.slice(0, NAMED).map(({ rule, path, detail }) => {
    const more = detail === undefined ? "" : ` (${detail})`;
    return `${WORDS[rule]} ${printable(path)}${more}`;
  });
  const left = findings.length > NAMED ? `; and ${findings.length - NAMED} more` : "";
  return `the work has ${named.join("; ")}${left}`;
}
