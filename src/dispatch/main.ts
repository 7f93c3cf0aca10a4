/**
 * Owns the dispatcher that looks once: `main <home>`. A session process calls it when something lies in its
 * outbox, or when a place in the line has become free, so that no process has to run all the time.
 */
import { exitStatus, isHoldfastError } from "../contract/index.ts";
import { systemClock } from "../util/index.ts";
import { Dispatcher } from "./dispatcher.ts";

const [home = ""] = process.argv.slice(2);

try {
  const dispatcher = await Dispatcher.open({ home, create: false });
  while (await dispatcher.look());
} catch (error) {
  const isExpected = isHoldfastError(error);
  const what = isExpected ? `${error.code}: ${error.message}` : error instanceof Error ? error.stack : error;
  process.stderr.write(`${new Date(systemClock.nowMs()).toISOString()} dispatcher: ${what}\n`);
  process.exitCode = isExpected ? error.exitStatus : exitStatus.bug;
}
