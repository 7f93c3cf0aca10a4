/**
 * Makes a fresh clone ready: installs what package-lock.json names, the right Node among it, when that has
 * not been done; then runs the npm script that it is given, in a shell of its own, because this one has
 * already decided which `node` it means. Works on any Node from 20 on, and uses nothing that is not part of it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const stamp = join(root, "node_modules", ".holdfast-setup");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const node = join(root, "node_modules", ".bin", "node");

const isDone = existsSync(node) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted;
if (!isDone) {
  process.stderr.write("setup: installing packages (once; a minute or less) …\n");
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel", "error", "--foreground-scripts=false"];
  const { status } = spawnSync("npm", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) {
    process.stderr.write("setup: npm ci failed; without the packages nothing can run here\n");
    process.exit(1);
  }
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout?.trim() ?? "";
  if (!(Number(/^v(\d+)/.exec(version)?.[1] ?? 0) >= 24)) {
    process.stderr.write(
      `setup: the Node of this project did not install (got "${version}"); are install scripts switched off?\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
  process.stderr.write(`setup: done, Node ${version}\n`);
}

const [script, ...rest] = process.argv.slice(2);
if (script) {
  const { status, signal } = spawnSync("npm", ["run", "--silent", script, "--", ...rest], {
    cwd: root,
    stdio: "inherit",
  });
  process.exit(status ?? (signal === "SIGINT" ? 130 : 1));
}
