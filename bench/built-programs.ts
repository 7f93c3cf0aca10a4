/**
 * Makes the benches start the built programs, as a user has them: session processes, openers, the broker. From
 * source each of them would first strip the types of all its files. It is loaded before the benches, with --import.
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const built = pathToFileURL(join(import.meta.dirname, "..", "dist", "process", "own-program.js")).href;

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith("/src/process/own-program.ts")) return loaded;
    return { ...loaded, source: String(loaded.source).replace("import.meta.url", JSON.stringify(built)) };
  },
});
