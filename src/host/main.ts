/**
 * The session process: `main <home> <session> <options>`. What it has to say goes to its log.
 */
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { openHome } from "../home/index.ts";
import { isDiskFull, systemClock } from "../util/index.ts";
import { Host } from "./host.ts";

const [homeDir = "", session = "", options = ""] = process.argv.slice(2);

function say(text: string): void {
  process.stderr.write(`${new Date(systemClock.nowMs()).toISOString()} ${text}\n`);
}

try {
  const host = await Host.start(
    await openHome({ home: homeDir, create: false }),
    session,
    JSON.parse(options),
  );
  // A machine that shuts down says so: everything is kept before we go.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => host.pause());
  await host.run();
} catch (caught) {
  const error = isDiskFull(caught) ? new HoldfastError("disk_full", "the disk is full") : caught;
  const isExpected = isHoldfastError(error);
  say(
    isExpected ? `${error.code}: ${error.message}` : `bug: ${error instanceof Error ? error.stack : error}`,
  );
  process.exitCode = isExpected ? error.exitStatus : exitStatus.bug;
}
// Whatever is left over must not keep us: the session is somebody else's by now.
process.exit();
