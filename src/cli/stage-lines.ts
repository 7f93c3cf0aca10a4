/**
 * Owns the lines of a task's stages: what is printed about each when it is over, from the records of the
 * task.
 */
import type { JournalRecord, Json } from "../contract/index.ts";
import { type CommandEnding, endingText } from "../face/index.ts";
import { plural } from "./amounts.ts";
import type { NamedSession } from "./which-session.ts";
import { wideningText } from "./widening-text.ts";

type Data = JournalRecord["data"];

/** One line for a person, and the same facts for a program. */
export interface StageLine {
  readonly stage: string;
  readonly facts: Record<string, unknown>;
  readonly text: string;
}

/** For each type, the data of the task's last record. */
export type TaskRecords = ReadonlyMap<string, Data>;

export interface Whose {
  readonly session: NamedSession;
  readonly user: string;
}

const HOW: Readonly<Record<string, string>> = {
  failed: "failed",
  cancelled: "was cancelled",
  interrupted: "was interrupted",
  needs_review: "needs a review",
  rewound: "was rewound",
};

export function routeLines(records: TaskRecords, { session, user }: Whose): StageLine[] {
  const { id, label } = session;
  const started = of(records, "task_started");
  const { task, carried, lane = null, hosts = [] } = started;
  const reached = Array.isArray(hosts) && hosts.length > 0 ? ` hosts=${hosts.join(",")}` : "";
  // A journal from before there were lanes names none.
  const inLane = lane === null ? "" : ` lane=${lane}${reached}`;
  const isSandboxed = !records.has("sandbox_waived");
  const unguarded = isSandboxed ? "" : " sandbox=none";
  const routed = {
    stage: "router",
    facts: { session: id, name: label === id ? null : label, task, user, lane, hosts, isSandboxed },
    text: `session=${label} task=${task} scope=user:${user}${inLane}${unguarded}`,
  };
  return [routed, ...notAcceptedLines(started["notAccepted"]), ...carriedLines(carried)];
}

/** What the repo's file asked for and the task did not get. */
function notAcceptedLines(words: Data[string] | undefined): StageLine[] {
  if (!Array.isArray(words)) return [];
  const named = words.map((word) => wideningText(word as { key: string; value: Json }));
  const more = named.length > NAMED_WORDS ? `, and ${named.length - NAMED_WORDS} more` : "";
  const text = `holdfast.yaml asks for more, which you have not accepted: ${named.slice(0, NAMED_WORDS).join(", ")}${more}; to see and accept it: holdfast trust`;
  return [{ stage: "trust", facts: { notAccepted: words }, text }];
}

const NAMED_WORDS = 5;

/** Printed only if the last task did not end well. */
function carriedLines(carried: Data[string] | undefined): StageLine[] {
  if (typeof carried !== "object" || carried === null || Array.isArray(carried)) return [];
  const { task, outcome = "never ended" } = carried;
  if (outcome === "done" || outcome === "unverified") return [];
  const text = `begins with what task ${task} left, which ${HOW[String(outcome)] ?? outcome}`;
  return [{ stage: "router", facts: { carried }, text }];
}

export function capsuleLines(records: TaskRecords): StageLine[] {
  const data = of(records, "capsule_created");
  const { strategy, durationMs: ms } = data;
  const base = typeof data["base"] === "string" ? data["base"] : null;
  const ports = (data["ports"] ?? {}) as Record<string, number>;
  const shown = Object.entries(ports).map(([name, port]) => ` ${name}=${port}`);
  const missing = (data["missing"] ?? []) as string[];
  return [
    {
      stage: "capsule",
      facts: { strategy, base, ports, ms },
      text: `${strategy} base=${base?.slice(0, 12) ?? "(no commit)"} ready in ${ms} ms${shown.join("")}`,
    },
    ...missing.map((path) => ({
      stage: "capsule",
      facts: { missing: path },
      text: `capsule.include: ${path} does not exist in the checkout`,
    })),
    ...(records.has("sandbox_waived")
      ? [
          {
            stage: "sandbox",
            facts: { waived: true },
            text: "waived: the command can do everything that you can do",
          },
        ]
      : []),
  ];
}

/** How the agent ended, and what it changed, if that was counted by then. */
export function actLines(records: TaskRecords): StageLine[] {
  const { exitCode, signal } = commandOf(records);
  const isInterrupted = isTurnInterrupted(records);
  const stat = statOf(records);
  const how = isInterrupted ? "interrupted" : (endingText({ exitCode, signal }) ?? "no exit status");
  const isCounted = records.has("task_ended");
  const text = isCounted ? `${how}, ${changedText(stat)}` : how;
  return [
    { stage: "agent", facts: { exitCode, signal, isInterrupted, ...(isCounted && stat) }, text },
    ...snapshotLines(of(records, "snapshot_taken")),
  ];
}

const changedText = ({ files, insertions, deletions }: ReturnType<typeof statOf>) =>
  `${plural(files, "file")} changed, +${insertions} -${deletions}`;

/** What was not kept of the files, or not published. */
function snapshotLines(snapshot: Data): StageLine[] {
  const lines: StageLine[] = [];
  const add = (facts: StageLine["facts"], text: string) => lines.push({ stage: "snapshot", facts, text });
  const omitted = Number(snapshot["omitted"] ?? 0);
  if (omitted > 0) add({ omitted }, `${plural(omitted, "ignored file")} beyond max_ignored_mb left out`);
  const ofHome = omittedIn(snapshot["home"]);
  if (ofHome > 0) add({ ofHome }, `${plural(ofHome, "file")} of HOME beyond max_home_mb left out`);
  const unanswered = Number(snapshot["unanswered"] ?? 0);
  if (unanswered > 0) {
    const named = snapshot["unansweredPaths"];
    const paths = Array.isArray(named) ? named.map(String) : [];
    const more = unanswered > paths.length ? ", …" : "";
    const why = `${plural(unanswered, "file")} kept but not published, because git could not classify them`;
    add({ unanswered, paths }, `${why}: ${paths.join(", ")}${more}`);
  }
  return lines;
}

function omittedIn(home: Data[string] | undefined): number {
  return typeof home === "object" && home !== null && "omitted" in home ? Number(home["omitted"]) : 0;
}

/** The work is based on an earlier commit, or on another one. */
export function publishedLines(records: TaskRecords): StageLine[] {
  const { branch, replaced } = of(records, "work_published");
  if (typeof replaced !== "string") return [];
  const short = replaced.slice(0, 12);
  const text = `${branch} was at ${short} before; git branch <name> ${short} restores that`;
  return [{ stage: "persist", facts: { branch, replaced }, text }];
}

export function persistLines(records: TaskRecords, { session }: Whose): StageLine[] {
  const ended = of(records, "task_ended");
  const { task, outcome } = ended;
  const stat = statOf(records);
  const { tree, snapshot, omitted = 0 } = of(records, "snapshot_taken");
  const { branch = null } = of(records, "work_published");
  const unpublished = (ended["unpublished"] ?? null) as { code: string; reason: string } | null;
  const published = branch
    ? `branch ${branch}`
    : stat.files === 0
      ? "nothing to publish"
      : unpublished?.code === "no_repo"
        ? unpublished.reason
        : `not published; holdfast diff ${session.label} shows it`;
  // Where there were checks, the agent's line was printed before anything was counted.
  const counted = records.has("check_started") ? `${changedText(stat)}, ` : "";
  return [
    {
      stage: "persist",
      facts: { task, outcome, snapshot, tree, branch, omitted, unpublished, ...stat },
      text: `tree=${String(tree).slice(0, 12)} ${counted}${published}`,
    },
    ...(unpublished && unpublished.code !== "no_repo"
      ? [{ stage: "review", facts: { ...unpublished }, text: unpublished.reason }]
      : []),
  ];
}

export function commandOf(records: TaskRecords): CommandEnding {
  const { exitCode, signal } = of(records, "process_ended");
  return {
    exitCode: typeof exitCode === "number" ? exitCode : null,
    signal: typeof signal === "string" ? signal : null,
  };
}

export function isTurnInterrupted(records: TaskRecords): boolean {
  return of(records, "turn_ended")["outcome"] === "interrupted";
}

function statOf(records: TaskRecords) {
  const { files, insertions, deletions } = of(records, "task_ended");
  return {
    files: Number(files ?? 0),
    insertions: Number(insertions ?? 0),
    deletions: Number(deletions ?? 0),
  };
}

function of(records: TaskRecords, type: string): Data {
  return records.get(type) ?? {};
}
