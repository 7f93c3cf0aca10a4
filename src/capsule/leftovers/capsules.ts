/**
 * Owns the list of what capsules have left behind when something was killed: half of one, its processes, its ports.
 */
import { endHolder, endMarked, markedProcesses, mountedBy } from "../../process/index.ts";
import type { Leftover } from "../../util/index.ts";
import { CapsuleDir } from "../dir/capsule-dir.ts";
import { listLeases, releasePorts } from "../dir/port-leases.ts";
import { clearUnfinished } from "../life/build.ts";
import type { CapsuleOwner, OwnedCapsule } from "../life/owner.ts";
import type { KnownSessions } from "./strangers.ts";

export function unfinished(capsules: readonly OwnedCapsule[]): Leftover[] {
  return capsules
    .filter(({ isUnfinished, custody }) => isUnfinished && !custody.isBusy)
    .map(({ layout, custody }) => ({
      what: layout.dir,
      why: "a capsule that was never finished",
      isCache: false,
      paths: [layout.dir],
      // It may have been finished since.
      clear: () =>
        custody.alone(async () => ((await layout.isThere()) ? undefined : clearUnfinished(layout))),
    }));
}

/** Holders and strays of capsules that nobody works in: a session at rest costs no process. */
export function processes(owners: readonly CapsuleOwner[]): Leftover[] {
  const marks = new Set(markedProcesses().map(({ mark }) => mark));
  return [...marks].flatMap((mark) => {
    // It is what the process itself says.
    const custody = owners.map((owner) => owner.custodyOf(mark)).find((one) => one !== undefined);
    if (!custody || custody.isBusy) return [];
    const holder = new CapsuleDir(mark).readHolder();
    const mount = holder?.mount;
    // Whoever has not got its mount only says that it belongs there.
    if (mount !== undefined && mountedBy(mount).length === 0) return [];
    const end = () => (holder ? endHolder(holder, mark) : endMarked(mark));
    return {
      what: mark,
      why: "its processes outlived their owner",
      isCache: false,
      clear: () => custody.alone(end),
    };
  });
}

export async function leases(
  homeDir: string,
  capsules: readonly OwnedCapsule[],
  sessions: KnownSessions,
): Promise<Leftover[]> {
  const leased = new Set(
    capsules.flatMap(({ spec }) =>
      Object.values(spec?.ports ?? {}).map((port) => `${spec?.session} ${port}`),
    ),
  );
  return (await listLeases(homeDir))
    .filter(({ port, session }) => !leased.has(`${session} ${port}`) && !sessions.isBusy(session))
    .map(({ port, session }) => ({
      what: `port ${port}`,
      why: `leased to ${session}, whose capsule does not have it`,
      isCache: false,
      clear: () => releasePorts(homeDir, [port], session),
    }));
}
