/**
 * Owns the files of /etc that a sandbox has of its own: who there is, which machine it is, and what that is called. The
 * machine's accounts are not its business, and a task's user may have none there.
 */
import { hostname } from "node:os";
import { readTextOr } from "../../util/index.ts";
import { lstatOr } from "./paths.ts";

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

export const HOST_NAME = "holdfast";
const NAME = "holdfast";
const NOBODY = 65_534;
/** A constant: the machine's own identifies it to whatever reads it. */
const MACHINE_ID = "686f6c64666173740000000000000000";

/**
 * Path and text of each, to be laid over the machine's own with mode 0644. `home` is HOME, as it is inside. What the
 * machine has not, or has as a link, can't be laid over.
 */
export function ownFiles(user: UserIds, home: string): readonly (readonly [path: string, text: string])[] {
  const files: [string, string][] = [
    ["/etc/passwd", passwdText(user, home)],
    ["/etc/group", groupText(user)],
    ["/etc/machine-id", `${MACHINE_ID}\n`],
    ["/etc/hosts", hostsText(readTextOr("/etc/hosts", ""))],
  ];
  return files.filter(([path]) => lstatOr(path)?.isFile());
}

const LOOPBACK = /^\s*(127\.|::1\s)/;

/**
 * Programs look up their own host's name. Of the machine's lines only those of the loopback lead anywhere inside, and
 * its own name is not for tasks to know.
 */
export function hostsText(machines: string, machine = hostname()): string {
  const kept = machines
    .split("\n")
    .filter((line) => LOOPBACK.test(line) && !line.split(/\s+/).some((word) => word.startsWith(machine)));
  return [...kept, "127.0.0.1 localhost", `127.0.1.1 ${HOST_NAME}`, ""].join("\n");
}

export function passwdText({ uid, gid }: UserIds, home: string): string {
  return linesOf(uid, {
    root: "root:x:0:0:root:/root:/usr/sbin/nologin",
    // Neither the end of a field nor of a line.
    own: `${NAME}:x:${uid}:${gid}::${home.replace(/[:\n\r]/g, "_")}:/bin/sh`,
    nobody: `nobody:x:${NOBODY}:${NOBODY}:nobody:/nonexistent:/usr/sbin/nologin`,
  });
}

export function groupText({ gid }: UserIds): string {
  return linesOf(gid, { root: "root:x:0:", own: `${NAME}:x:${gid}:`, nobody: `nogroup:x:${NOBODY}:` });
}

/** The task's user stands in place of the line that has the same number. */
function linesOf(
  id: number,
  { root, own, nobody }: Readonly<Record<"root" | "own" | "nobody", string>>,
): string {
  const lines = [
    id === 0 ? own : root,
    ...(id === 0 || id === NOBODY ? [] : [own]),
    id === NOBODY ? own : nobody,
  ];
  return lines.map((line) => `${line}\n`).join("");
}
