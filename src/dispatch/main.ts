/**
 * A dispatcher that looks once: `main <home>`. A session process calls it when something lies in its outbox or a
 * place in the line is free, so that nothing has to run all the time.
 */
import { isHoldfastError } from "../contract/index.ts";
import { Dispatcher } from "./dispatcher.ts";

const [home = ""] = process.argv.slice(2);

try {
  const dispatcher = await Dispatcher.open({ home, create: false });
  await dispatcher.look();
} catch (error) {
  // The home may have been taken away; there is nobody to tell.
  process.exitCode = isHoldfastError(error) ? error.exitStatus : 1;
}
