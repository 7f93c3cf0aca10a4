import { existsSync, readdirSync } from "node:fs";
import type { Command } from "commander";
import { parseSessionId } from "../../contract/index.ts";
import type { SessionView } from "../../dispatch/index.ts";
import { endingText } from "../../face/index.ts";
import { type Home, sessionDirOf } from "../../home/index.ts";
import type { LaneState, Spent, TaskState } from "../../session/index.ts";
import type { SessionDiskUse } from "../../upkeep/index.ts";
import { artifactsDir, present, printable } from "../../util/index.ts";
import { bytes, plural } from "../amounts.ts";
import { definitionText } from "../definition-text.ts";
import { hostsText } from "../lane-text.ts";
import { nextSteps } from "../next-step.ts";
import { say, sayJson } from "../screen.ts";
import { parseTarget, resolveTarget, TASK_HELP } from "../target.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

export function command(): Command {
  return verb(
    "show",
    "Show what a session is, its state, and what you can do next. The disk use does not count its snapshots, because they share their bytes with those of other sessions.",
    ["holdfast show fix-login", "holdfast show fix-login/2 --json"],
  )
    .argument("<session>", TASK_HELP)
    .action(async (target: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id } = await resolveTarget(dispatcher, target, options);
      const of = { ...scope(options), ...present({ task: parseTarget(target).task }) };
      const session = await dispatcher.show(id, of);
      const disk = await dispatcher.holdfast.diskUse(id, scope(options));
      const command = await dispatcher.lastCommand(id, of);
      const artifacts = session.task && artifactsOf(dispatcher.home, id, session.task.number);
      if (options.json) return sayJson({ ...session, command, artifacts, disk });
      const { spent, budget, parent, damage } = session;
      const line = (name: string, text: string) => say(`${name.padEnd(9)} ${printable(text)}`);
      if (session.name !== null) line("name", session.name);
      line("session", session.id);
      line("status", statusText(session));
      line("user", session.user);
      if (session.title) line("title", session.title);
      if (session.agent) line("agent", agentText(session));
      line(
        "repo",
        session.repo ?? (session.lacksRepo ? "not on this machine: its files are set aside" : "no repo"),
      );
      line("opened", session.createdAt);
      line("last", session.updatedAt);
      line("turns", `${session.turns} (${plural(session.records, "record")})`);
      if (session.history.length > 1 || (session.history.at(-1)?.[1] ?? 0) < session.turns)
        line("history", session.history.map(rangeText).join(", ") || "none");
      line("spent", spentText(spent));
      if (Object.keys(budget).length > 0)
        line(
          "budget",
          Object.entries(budget)
            .map(([limit, value]) => `${value} ${limit}`)
            .join(", "),
        );
      if (command !== null) line("command", command);
      if (session.task) line("task", taskText(session.task, session.pid !== null));
      if (session.task?.lane) line("lane", laneText(session.task.lane));
      if (session.task && !session.task.isSandboxed)
        line("sandbox", "none: its command can do everything that you can do");
      if (session.branch?.tip) line("branch", `${session.branch.name} at ${session.branch.tip.slice(0, 12)}`);
      if (session.task?.changed) line("files", changedText(session.task.changed));
      if (artifacts) line("artifacts", `${artifacts.names.join(", ")} in ${artifacts.directory}`);
      line("disk", diskText(disk));
      if (session.queue > 0) line("queue", plural(session.queue, "task"));
      if (session.inbox + session.unread > 0)
        line("messages", `${session.unread} unread, ${session.inbox} in the inbox`);
      if (session.refused > 0)
        line("refused", `${plural(session.refused, "request")} without the session's token`);
      if (session.crashes > 0) line("crashes", `${session.crashes} in a row`);
      if (session.handoff) line("with", `${session.handoff.to}, in ${session.handoff.directory}`);
      if (parent) line("fork of", `${parent.id} at turn ${parent.turn}`);
      for (const [request, { kind }] of Object.entries(session.pending))
        line("waits for", `${kind} ${request}`);
      if (damage)
        line("damaged", `${damage.file} at byte ${damage.offset}, seq ${damage.seq}: ${damage.reason}`);
      for (const [index, step] of nextSteps(session).entries()) line(index === 0 ? "next" : "", step);
    });
}

/** What a task of the session left beside its work; null while there is nothing. */
function artifactsOf(home: Home, id: string, task: number) {
  const directory = artifactsDir(sessionDirOf(home, parseSessionId(id)), task);
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => !name.startsWith(".")) : [];
  return names.length === 0 ? null : { directory, names: names.sort() };
}

function statusText({ standing, why, pid }: SessionView): string {
  const more = [...(why === null ? [] : [why]), ...(pid === null ? [] : [`process ${pid}`])];
  return more.length > 0 ? `${standing} (${more.join(", ")})` : standing;
}

function laneText({ name, isReadOnly, isWithoutCommands, hosts }: LaneState): string {
  const writes = isReadOnly ? "writes no file of the capsule" : "writes in its capsule";
  return `${name}: ${writes}${isWithoutCommands ? ", runs no commands" : ""}, reaches ${hostsText(hosts)}`;
}

const changedText = ({ files, insertions, deletions }: NonNullable<TaskState["changed"]>) =>
  `${plural(files, "file")} changed, +${insertions} -${deletions}`;

function diskText({ total, home, ...rest }: SessionDiskUse): string {
  const parts = Object.entries({ HOME: home, ...rest }).filter(([, size]) => size > 0);
  return `${bytes(total)} (${parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", ")})`;
}

const rangeText = ([first, last]: readonly [number, number]) =>
  first === last ? `${first}` : `${first}–${last}`;

function taskText(task: TaskState, isRunning: boolean): string {
  const { number, capsule, snapshot, branch } = task;
  const outcome = task.outcome ?? (task.parked ? "parked" : null);
  const ending = endingText(task);
  const files = capsule === "there" ? "capsule there" : capsule === "torn_down" ? "torn down" : "no capsule";
  const safe = snapshot ? `, checkpoint of turn ${snapshot.turn}` : "";
  return `${number}, ${outcome ?? (isRunning ? "under way" : "not ended")}${ending ? `, ${ending}` : ""}, ${files}${safe}${branch ? `, published as ${branch}` : ""}`;
}

function spentText(spent: Spent): string {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = spent;
  const minutes = (spent.durationMs / 60_000).toFixed(1);
  const cached = cacheReadTokens + cacheWriteTokens;
  const tokens = `${inputTokens} + ${outputTokens} tokens${cached > 0 ? ` and ${cached} of caches` : ""}`;
  return `${tokens}, ${spent.usd.toFixed(4)} usd, ${minutes} minutes, ${plural(spent.turns, "turn")}`;
}

/** Includes what the agent was defined as when the session was opened. */
function agentText({ agent, definition }: Pick<SessionView, "agent" | "definition">): string {
  return definition ? `${agent}: ${definitionText(definition)}` : (agent ?? "");
}
