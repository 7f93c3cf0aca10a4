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

/** A download that takes longer is given up. What has begun to be installed is not cut off. */
const DOWNLOAD_MS = 120_000;

const [script, ...rest] = process.argv.slice(2);

ensurePackage({
  name: "bubblewrap",
  programs: ["bwrap"],
  what: "the sandbox",
  without: "what needs the sandbox is left out",
});
// Tests alone need one, and it is large: 330 MB.
if (script === "run:test")
  ensurePackage({
    name: "chromium",
    programs: ["chromium", "chromium-browser", "google-chrome"],
    what: "a browser for tests of the sandbox, half a minute",
    without: "the tests of a browser are left out",
  });

/** Where it can't be installed, what needs it says so and the rest goes on. */
function ensurePackage({ name, programs, what, without }) {
  const isThere = () =>
    programs.some((one) => spawnSync(one, ["--version"], { stdio: "ignore" }).status === 0);
  if (process.platform !== "linux" || isThere()) return;
  const apt = spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status === 0;
  const isRoot = process.getuid?.() === 0;
  const sudo = !isRoot && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0;
  if (apt && (isRoot || sudo)) {
    process.stderr.write(`setup: installing ${name} (${what}; once) …\n`);
    const run = (timeout, ...args) =>
      spawnSync(isRoot ? "apt-get" : "sudo", isRoot ? args : ["-n", "apt-get", ...args], {
        stdio: "ignore",
        timeout,
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      }).status === 0;
    const words = ["install", "-y", "--no-install-recommends", name];
    const download = () => run(DOWNLOAD_MS, ...words, "--download-only");
    const isDownloaded = download() || (run(DOWNLOAD_MS, "update") && download());
    if (isDownloaded && run(undefined, ...words) && isThere()) return;
  }
  process.stderr.write(
    `setup: ${name} is missing and can't be installed from here; ${without} (apt install ${name})\n`,
  );
}

if (script) {
  const { status, signal } = spawnSync("npm", ["run", "--silent", script, "--", ...rest], {
    cwd: root,
    stdio: "inherit",
  });
  process.exit(status ?? (signal === "SIGINT" ? 130 : 1));
}
