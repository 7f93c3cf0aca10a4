/**
 * An ordinary user, for tests that root runs: what root may do says little about what others may.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findProgram } from "../../src/process/index.ts";

export const NOBODY = 65_534;
const root = join(import.meta.dirname, "..", "..");

const become = ["setpriv", "--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"];
const isRoot = process.getuid?.() === 0;

/** Words that go before a command; none for whoever is an ordinary user already. */
export const asNobody: readonly string[] = isRoot ? become : [];

/** Why root can't become one; undefined when it can, or need not. */
export const whyNotNobody: string | undefined = !isRoot
  ? undefined
  : !findProgram("setpriv")
    ? "setpriv is missing, so root can't become one"
    : spawnSync("setpriv", [...become.slice(1), "cat", join(root, "package.json")]).status !== 0
      ? "the project's directory can't be read by other users"
      : undefined;
