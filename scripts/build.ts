/**
 * Makes dist/: the library, its part for tests, their types, and the command, bundled so that a start loads
 * only a few files.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { builtins, bundle } from "./bundle.ts";

const root = join(import.meta.dirname, "..");
process.chdir(root);
rmSync("dist", { recursive: true, force: true });

const common = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  outdir: "dist",
  logLevel: "warning",
} as const;

// The library leaves its dependencies to npm. The command includes them, because resolving many small files
// takes longer than everything else that a start does.
await build({ ...common, entryPoints: { index: "src/index.ts" }, packages: "external" });
// What tests and benches start built processes through. It is not published.
await build({ ...common, entryPoints: { "dispatch/index": "src/dispatch/index.ts" }, packages: "external" });
await build({ ...common, entryPoints: { "testing/index": "src/testing/index.ts" } });
const bundled = {
  ...common,
  splitting: true,
  minifySyntax: true,
  minifyWhitespace: true,
  // CommonJS dependencies in an ES module bundle call require.
  banner: {
    js: 'const require=process.getBuiltinModule("node:module").createRequire(import.meta.url);',
  },
} as const;
const command = await bundle(
  {
    ...bundled,
    entryPoints: { "cli/main": "src/cli/main.ts", "dispatch/main": "src/dispatch/main.ts" },
    chunkNames: "cli/[name]-[hash]",
  },
  // Not main.ts itself, which answers only --version and the like.
  ["src/cli/run-verb.ts", "src/cli/verbs/run.ts"],
);
// A bundle by itself, because many of these processes wait: it must not load what only the command needs.
const host = await bundle(
  { ...bundled, entryPoints: { "host/main": "src/host/main.ts" }, chunkNames: "host/[name]-[hash]" },
  ["src/host/host.ts"],
);
// A bundle by itself, because it holds the keys: little else is loaded beside them.
const broker = await bundle(
  { ...bundled, entryPoints: { "broker/main": "src/broker/main.ts" }, chunkNames: "broker/[name]-[hash]" },
  ["src/broker/server.ts"],
);
// A bundle by itself, because it has the credentials of tools for the time of one action.
const worker = await bundle(
  { ...bundled, entryPoints: { "worker/main": "src/worker/main.ts" }, chunkNames: "worker/[name]-[hash]" },
  ["src/worker/carry-out.ts"],
);
// Each a bundle by itself: the first is loaded before the command, the second is started for every task.
await build({
  ...common,
  entryPoints: {
    "host/early": "src/host/early.ts",
    "mcp/main": "src/mcp/main.ts",
    "process/network/main": "src/process/network/main.ts",
  },
  plugins: [builtins],
});
chmodSync("dist/cli/main.js", 0o755);
writeFileSync("dist/cli/THIRD_PARTY_LICENSES.txt", licenses(command, host, broker, worker));
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });

/** The licences of all packages in the bundle: their terms require it. */
function licenses(...metas: readonly Metafile[]): string {
  const packages = new Set<string>();
  for (const input of metas.flatMap(({ inputs }) => Object.keys(inputs))) {
    const match = /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match?.[1]) packages.add(match[1]);
  }
  return [...packages]
    .sort()
    .map(licenseOf)
    .join(`\n${"-".repeat(80)}\n`);
}

function licenseOf(directory: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "LICENCE"]
    .map((one) => join(directory, one))
    .find(existsSync);
  return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8") : ""}`;
}
