import { defineConfig } from "vitest/config";

export default defineConfig({
  // Another user, as which some tests run again, can't write to node_modules.
  ...(process.env["HOLDFAST_TEST_CACHE"] && { cacheDir: process.env["HOLDFAST_TEST_CACHE"] }),
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two cores: tests start processes of their own.
    maxWorkers: 2,
    maxConcurrency: 3,
  },
});
