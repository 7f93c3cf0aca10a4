/**
 * Owns the files of /etc that a sandbox has of its own: its users, the machine's id, and the machine's name.
 * The real accounts are not needed inside, and a task's user may not be among them.
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
/** A constant, because the real one identifies the machine. */
const MACHINE_ID = "686f6c64666173740000000000000000";

/**
 * Path and text of each file, which covers the machine's own with mode 0644. `home` is HOME inside. A file
 * that the machine does not have, or that is a link, can't be covered.
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
 * Programs look up the name of their own host. Of the machine's lines only those of the loopback lead
 * anywhere inside, and tasks must not know its real name.
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
    // It must not end the field or the line.
    own: `${NAME}:x:${uid}:${gid}::${home.replace(/[:\n\r]/g, "_")}:/bin/sh`,
    nobody: `nobody:x:${NOBODY}:${NOBODY}:nobody:/nonexistent:/usr/sbin/nologin`,
  });
}

export function groupText({ gid }: UserIds): string {
  return linesOf(gid, { root: "root:x:0:", own: `${NAME}:x:${gid}:`, nobody: `nogroup:x:${NOBODY}:` });
}

/** The task's user replaces the line with the same number. */
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
