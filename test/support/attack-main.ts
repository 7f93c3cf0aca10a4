/**
 * A program for tests of escapes: runs a script in a sandbox, as whoever runs it, with or without some of the guards.
 * It takes what to do as JSON on its standard input.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, plainSandbox, taskUser } from "../../src/process/index.ts";
import type { Guard, Launched } from "./attacks.ts";

const asked = JSON.parse(readFileSync(0, "utf8")) as Launched;
const { without, files, planted, script } = asked;
const lacks = (guard: Guard) => without.includes(guard);
const isRoot = process.getuid?.() === 0;

/** Not in /tmp, which every sandbox has of its own. */
const AT = "/srv/lab/files";
const user = lacks("user") ? undefined : taskUser("/");
const launched = launch(
  { ...plainSandbox(AT, user), hidden: lacks("view") ? [] : asked.hidden },
  {
    command: ["sh", "-c", script],
    tree: files,
    entry: { enter: [], hasNetwork: lacks("network") },
    env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C", HOME: AT, PLANTED: planted, ...asked.env },
    writable: lacks("view") ? asked.shown : [],
    readable: lacks("view") ? [[planted, join(AT, "../planted")]] : [],
  },
);

let words = [...launched.argv];
/** Takes a word away, and those that belong to it. */
const drop = (word: string, more = 0) => {
  for (let at = words.indexOf(word); at >= 0; at = words.indexOf(word)) words.splice(at, 1 + more);
};
if (lacks("filter")) drop("--seccomp", 1);
if (lacks("pids")) drop("--unshare-pid");
if (lacks("ipc")) drop("--unshare-ipc");
if (lacks("session")) drop("--new-session");
if (lacks("read-only")) drop("--remount-ro", 1);
if (lacks("namespaces")) drop("--disable-userns");
if (lacks("user")) {
  if (isRoot) drop("--cap-drop", 1);
  else words = words.flatMap((word) => (word === "--unshare-user" ? [word, "--cap-add", "ALL"] : [word]));
}
const [program = "", ...args] = words;
const { stdout, stderr, status } = spawnSync(program, args, {
  cwd: "/",
  env: launched.env,
  stdio: ["ignore", "pipe", "pipe", ...launched.descriptors],
  timeout: 60_000,
});
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = status ?? 1;
