/**
 * A shell script under the root of a sandbox, which has tools and nothing else: it prints what it sees.
 */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { ownFiles } from "../../src/process/sandbox/identity.ts";
import { shownArguments } from "../../src/process/sandbox/mounts.ts";
import { minimalRoot } from "../../src/process/sandbox/root.ts";
import { noTools, type Tools } from "../../src/process/sandbox/tools.ts";
import { TempDir } from "./home.ts";

export const ownIds = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** What the script prints on both streams. */
export function saidUnderRoot(script: string, tools: Tools = noTools): string {
  using files = new TempDir();
  const { show, seal } = shownArguments(tools);
  const data = ownFiles(ownIds, "/nowhere").map(([path, text], at) => {
    const file = files.join(String(at));
    writeFileSync(file, text);
    return { fd: openSync(file, "r"), args: ["--perms", "0644", "--ro-bind-data", String(at + 3), path] };
  });
  const args = [
    ...["--unshare-pid", "--die-with-parent", "--cap-drop", "ALL"],
    ...minimalRoot(ownIds),
    ...data.flatMap((one) => one.args),
    ...show,
    ...seal,
    ...["--remount-ro", "/", "--chdir", "/", "--", "sh", "-c", script],
  ];
  try {
    const { stdout, stderr } = spawnSync("bwrap", args, {
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", ...tools.env },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe", ...data.map(({ fd }) => fd)],
    });
    return `${stdout}${stderr}`.trim();
  } finally {
    for (const { fd } of data) closeSync(fd);
  }
}
