/**
 * Owns what capsules can leave behind when something is killed: half of one, its processes, its ports.
 */
import {
  CapsuleDir,
  type CapsuleOwner,
  clearUnfinished,
  listLeases,
  type OwnedCapsule,
  releasePorts,
} from "../../capsule/index.ts";
import type { SessionId } from "../../contract/index.ts";
import { type Home, type Leftover, sessionDirOf } from "../../home/index.ts";
import { probeOwner } from "../../journal/index.ts";
import { endHolder, endMarked, markedProcesses, mountedBy } from "../../process/index.ts";

export async function capsuleLeftovers(
  home: Home,
  owners: readonly CapsuleOwner[],
  capsules: readonly OwnedCapsule[],
): Promise<Leftover[]> {
  return [...unfinished(capsules), ...processes(owners), ...(await leases(home, capsules))];
}

function unfinished(capsules: readonly OwnedCapsule[]): Leftover[] {
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
function processes(owners: readonly CapsuleOwner[]): Leftover[] {
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

async function leases(home: Home, capsules: readonly OwnedCapsule[]): Promise<Leftover[]> {
  const leased = new Set(
    capsules.flatMap(({ spec }) =>
      Object.values(spec?.ports ?? {}).map((port) => `${spec?.session} ${port}`),
    ),
  );
  const isBusy = (session: string) => probeOwner(sessionDirOf(home, session as SessionId)).held;
  return (await listLeases(home.dir))
    .filter(({ port, session }) => !leased.has(`${session} ${port}`) && !isBusy(session))
    .map(({ port, session }) => ({
      what: `port ${port}`,
      why: `leased to ${session}, whose capsule does not have it`,
      isCache: false,
      clear: () => releasePorts(home.dir, [port], session),
    }));
}
