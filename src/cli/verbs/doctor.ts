import type { Command } from "commander";
import { exitStatus, isSessionId } from "../../contract/index.ts";
import type { Holdfast } from "../../library/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { paint, say, sayJson } from "../screen.ts";
import { type CommonOptions, homeVerb, openDispatcher, openHome } from "../verb.ts";
import { here } from "../which-session.ts";

type Options = CommonOptions & { readonly repair?: string; readonly deep?: boolean };

export function command(): Command {
  return homeVerb(
    "doctor",
    "What this machine can do, and how every session stands: its record, its artifacts, its snapshots. Exits with 6 when something is damaged, with 1 when something else does not work.",
    ["holdfast doctor", "holdfast doctor --deep", "holdfast doctor --repair fix-login"],
  )
    .option("--deep", "read every byte of every snapshot and of the packs that hold them, too")
    .option(
      "--repair <session>",
      "fork the good records of a damaged session; the damaged one stays as it is",
    )
    .action(async (options: Options) => {
      const home = await openHome(options, { create: options.repair === undefined });
      await (options.repair === undefined ? examine(home, options) : repair(home, options.repair, options));
    });
}

async function examine(home: Holdfast, options: Options): Promise<void> {
  const deep = options.deep ?? false;
  const found = await home.examine({ deep });
  const findings = [...found, { level: "ok" as const, what: "limits", detail: await limitsText(options) }];
  const bad = findings.filter(({ level }) => level === "bad");
  if (bad.length > 0)
    process.exitCode = bad.some(({ what }) => isSessionId(what) || what === "store")
      ? exitStatus.damaged
      : exitStatus.failed;
  if (options.json) return sayJson(findings);
  const colour = { ok: "green", note: "yellow", bad: "red" } as const;
  for (const { level, what, detail } of findings) {
    say(`${paint(colour[level], level.padEnd(4))}  ${printable(what).padEnd(11)}  ${printable(detail)}`);
  }
}

async function limitsText(options: Options): Promise<string> {
  const { maxSessions, maxMemoryBytes } = await (await openDispatcher(options)).limits();
  const limits = [
    ...(maxSessions === null ? [] : [plural(maxSessions, "session")]),
    ...(maxMemoryBytes === null ? [] : [`${Math.round(maxMemoryBytes / 1024 / 1024)} MB`]),
  ];
  return limits.length === 0
    ? "none but the memory that is free: holdfast serve --max-sessions sets one"
    : `${limits.join(" and ")} at once: holdfast serve --max-… changes that`;
}

async function repair(home: Holdfast, prefix: string, options: Options): Promise<void> {
  // Whoever looks after a home repairs anybody's session in it.
  const { id, name } = await home.resolveSession(prefix, { user: null, ...present({ here: here() }) });
  const label = name ?? id;
  const { user } = (await home.listSessions({ user: null })).find((one) => one.id === id) ?? {};
  const result = await home.repairSession(id, present({ user }));
  if (options.json) return sayJson(result);
  if (result.findings.length === 0) {
    const beside = (await home.auditSession(id, present({ user }))).findings.length;
    if (beside === 0) say(`${label} is whole: nothing to repair`);
    else
      say(
        `every record of ${label} is good; what is damaged of its files can't be mended: holdfast audit ${label} says what`,
      );
  } else if (result.session === null)
    say(`${label}: the cached fold was spoiled and is gone; the journal is whole`);
  else say(`${result.session} has the ${result.keptRecords} good records of ${label}, which stays as it is`);
}
