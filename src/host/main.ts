/**
 * The session process: `main <home> <session> <options>`, or `main <home> spare` for one that is told its session later,
 * with a connection to its starter. What it has to say goes to its log.
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
  // A machine that shuts down says so: everything is kept before we go.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => host.pause());
  host.look().then(
    () => starter.sayTakenIn(),
    // It leaves: the starter hears that by its end.
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
// Whatever is left over must not keep us: the session is somebody else's by now.
process.exit();

function optionsIn(text: string): StartOptions {
  return JSON.parse(text);
}

/** Whoever has no use for it hears nothing of it any more. */
async function given(): Promise<Given> {
  const said = await starter.whenGiven();
  if (!said) process.exit();
  Object.assign(process.env, said.env);
  return said;
}
