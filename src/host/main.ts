/**
 * Owns the program of the session process: `main <home> <session> <options>`, or `main <home> spare` for one
 * that is told its session later, with a connection to its starter. Its reports go to its log.
 */
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { openHome } from "../home/index.ts";
import { isDiskFull, systemClock } from "../util/index.ts";
import { NOT_YET } from "./early.ts";
import { type Given, Starter, type StartOptions } from "./handover.ts";
import { Host } from "./host.ts";

const [homeDir = "", named = "", optionsText = ""] = process.argv.slice(2);
const starter = new Starter();

try {
  const home = await openHome({ home: homeDir, create: false });
  const { session, options } =
    named === NOT_YET ? await given() : { session: named, options: optionsIn(optionsText) };
  if (options.isUnopened) await starter.whenOpened();
  const host = await Host.start(home, session, options);
  starter.sayReady();
  // A machine that shuts down sends this: everything is kept before we end.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => host.pause());
  host.look().then(
    () => starter.sayTakenIn(),
    // It is leaving: the starter reads that from the end of the connection.
    () => {},
  );
  await host.run();
} catch (caught) {
  const error = isDiskFull(caught) ? new HoldfastError("disk_full", "the disk is full") : caught;
  const isExpected = isHoldfastError(error);
  const why = isExpected
    ? `${error.code}: ${error.message}`
    : `bug: ${error instanceof Error ? error.stack : error}`;
  const line = `${new Date(systemClock.nowMs()).toISOString()} ${why}`;
  process.stderr.write(`${line}\n`);
  starter.sayWhyNot(line);
  process.exitCode = isExpected ? error.exitStatus : exitStatus.bug;
}
// Nothing that is left over may hold us up: another process may have the session by now.
process.exit();

function optionsIn(text: string): StartOptions {
  return JSON.parse(text);
}

/** A starter that no longer needs this process gets no more reports from it. */
async function given(): Promise<Given> {
  const said = await starter.whenGiven();
  if (!said) process.exit();
  Object.assign(process.env, said.env);
  return said;
}
