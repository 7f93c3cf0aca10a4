/**
 * Owns `limits.json`: how much all sessions of a home may use together. `serve` sets it, and it stays until
 * it is set again.
 */
import type { Home } from "../home/index.ts";
import { limitsPath, openSealedJson, readIfThere, replaceFile, sealJson } from "../util/index.ts";
import type { HomeLimits } from "./admission.ts";

export async function readLimits(home: Pick<Home, "dir">): Promise<HomeLimits> {
  const bytes = await readIfThere(limitsPath(home.dir)).catch(() => undefined);
  const value = (bytes && openSealedJson(bytes)) ?? {};
  const number = (name: string) => (typeof value[name] === "number" ? (value[name] as number) : null);
  return { maxSessions: number("maxSessions"), maxMemoryBytes: number("maxMemoryBytes") };
}

export async function writeLimits(home: Pick<Home, "dir" | "io">, limits: HomeLimits): Promise<void> {
  await replaceFile(home.io.disk, limitsPath(home.dir), sealJson(limits));
}
