import type { Command } from "commander";
import { exitStatus, isSessionId } from "../../contract/index.ts";
import type { LocalHome } from "../../library/index.ts";
import { present, printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { paint, say, sayJson } from "../screen.ts";
import { type CommonOptions, homeVerb, openDispatcher, openHome } from "../verb.ts";
import { here } from "../which-session.ts";

type Options = CommonOptions & { readonly repair?: string; readonly deep?: boolean };

export function command(): Command {
  return homeVerb(
    "doctor",
    "Report what this machine can do, and check every session: its record, its artifacts, its snapshots. Exits with 6 if something is damaged, and with 1 if something else does not work.",
    ["holdfast doctor", "holdfast doctor --deep", "holdfast doctor --repair fix-login"],
  )
    .option("--deep", "also read every byte of every snapshot, and of the packs that contain them")
    .option(
      "--repair <session>",
      "fork the good records of a damaged session into a new one; the damaged session stays as it is",
    )
    .action(async (options: Options) => {
      const home = await openHome(options, { create: options.repair === undefined });
      await (options.repair === undefined ? examine(home, options) : repair(home, options.repair, options));
    });
}

async function examine(home: LocalHome, options: Options): Promise<void> {
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
    ? "no limit other than free memory; to set one: holdfast serve --max-sessions N"
    : `${limits.join(" and ")} at once; to change that: holdfast serve --max-sessions N or --max-memory MB`;
}

async function repair(home: LocalHome, prefix: string, options: Options): Promise<void> {
  // A repair looks at the sessions of all users of the home, because it is done by the owner of the home.
  const { id, name } = await home.resolveSession(prefix, { user: null, ...present({ here: here() }) });
  const label = name ?? id;
  const { user } = (await home.listSessions({ user: null })).find((one) => one.id === id) ?? {};
  const result = await home.repairSession(id, present({ user }));
  if (options.json) return sayJson(result);
  if (result.findings.length === 0) {
    const beside = (await home.auditSession(id, present({ user }))).findings.length;
    if (beside === 0) say(`${label} is whole: there is nothing to repair`);
    else
      say(
        `every record of ${label} is good, but some of its files are damaged and can't be repaired: holdfast audit ${label} names them`,
      );
  } else if (result.session === null)
    say(`${label}: its cached fold was damaged and has been removed; the journal is whole`);
  else
    say(
      `${result.session} is a fork with the ${result.keptRecords} good records of ${label}; ${label} stays as it is`,
    );
}
