/**
 * Owns how the version of an agent is found. If npm installed it, its package has the version: some agents
 * take seconds to report it themselves.
 */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { baseEnvironment, runProgram, userHome } from "../process/index.ts";
import { parseObject, readTextOr } from "../util/index.ts";
import type { KnownAgent } from "./known.ts";

const TIMEOUT_MS = 10_000;

/** `path`: its program, outside of all checkouts. Undefined: it could not be asked. */
export async function versionOf(
  { npmPackage }: Pick<KnownAgent, "npmPackage">,
  path: string,
): Promise<string | undefined> {
  return packageVersion(npmPackage, path) ?? (await saidVersion(path));
}

function packageVersion(name: string | undefined, path: string): string | undefined {
  for (let dir = dirname(realpathSync(path)); dir !== dirname(dir); dir = dirname(dir)) {
    const found = parseObject(readTextOr(join(dir, "package.json"), ""));
    if (found && found["name"] === name && typeof found["version"] === "string") return found["version"];
  }
  return undefined;
}

async function saidVersion(path: string): Promise<string | undefined> {
  const options = { env: baseEnvironment({ HOME: userHome() }), timeoutMs: TIMEOUT_MS, maxOutputBytes: 4096 };
  const said = await runProgram([path, "--version"], options).catch(() => undefined);
  return /\d+(?:\.\d+)+\S*/.exec(said?.stdout.toString("utf8") ?? "")?.[0];
}
