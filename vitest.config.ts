import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

const root = import.meta.dirname;

/**
 * Tests import the source, and the programs that it starts are the built ones, as a user has them: session
 * processes, workers, the broker. From source each of them would first strip the types of all its files,
 * which takes ten times as long as its start.
 */
const builtPrograms: Plugin = {
  name: "built-programs",
  transform(code, id) {
    if (!id.endsWith("/src/process/own-program.ts")) return;
    const built = pathToFileURL(join(root, "dist", "process", "own-program.js"));
    return code.replace("import.meta.url", JSON.stringify(built.href));
  },
};

export default defineConfig({
  // Another user, as which some tests run again, can't write to node_modules.
  ...(process.env["HOLDFAST_TEST_CACHE"] && { cacheDir: process.env["HOLDFAST_TEST_CACHE"] }),
  plugins: [builtPrograms],
  test: {
    include: ["test/**/*.test.ts"],
    // Fixtures run from source: with a cache, only the first one strips the types.
    env: { NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled") },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores: tests start processes of their own.
    maxWorkers: 2,
    maxConcurrency: 3,
  },
});
