/**
 * Owns the leases of ports: a file for each port, made by the process that leases it, so that no two capsules
 * of a home ever have the same port. A session has one capsule at a time, and keeps its ports from task to
 * task.
 */
import { mkdir, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { errorCode, leasesDir } from "../../util/index.ts";

const FIRST = 20_000;
const COUNT = 10_000;

/** An earlier version leased to `session/task`. */
const sessionIn = (text: string) => text.trim().split("/", 1)[0] ?? "";

/** Leases a port for each name: all of them, or none. */
export async function leasePorts(
  homeDir: string,
  names: readonly string[],
  session: string,
): Promise<Record<string, number>> {
  const leased: Record<string, number> = {};
  if (names.length > 0) await mkdir(leasesDir(homeDir), { recursive: true, mode: 0o700 });
  try {
    for (const name of names) leased[name] = await leaseOne(homeDir, session);
    return leased;
  } catch (error) {
    await releasePorts(homeDir, Object.values(leased), session);
    throw error;
  }
}

async function leaseOne(homeDir: string, session: string): Promise<number> {
  const start = Math.floor(Math.random() * COUNT);
  for (let step = 0; step < COUNT; step += 1) {
    const port = FIRST + ((start + step) % COUNT);
    if (!(await claim(homeDir, port, session))) continue;
    if (await isFree(port)) return port;
    await unlink(join(leasesDir(homeDir), String(port)));
  }
  throw new HoldfastError(
    "ports_exhausted",
    `no port between ${FIRST} and ${FIRST + COUNT - 1} is free for the session`,
  );
}

async function claim(homeDir: string, port: number, session: string): Promise<boolean> {
  try {
    await writeFile(join(leasesDir(homeDir), String(port)), `${session}\n`, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Releases only the leases of this session. */
export async function releasePorts(
  homeDir: string,
  ports: readonly number[],
  session: string,
): Promise<void> {
  for (const port of ports) {
    const path = join(leasesDir(homeDir), String(port));
    const text = await readFile(path, "utf8").catch(() => "");
    if (sessionIn(text) === session) await unlink(path).catch(() => {});
  }
}

export async function listLeases(
  homeDir: string,
): Promise<{ readonly port: number; readonly session: string }[]> {
  const names = (await readdir(leasesDir(homeDir)).catch(() => [])).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(leasesDir(homeDir), name), "utf8").catch(() => "");
      return { port: Number(name), session: sessionIn(text) };
    }),
  );
}
