/**
 * Owns the list of what capsules left behind when a process was killed: unfinished capsules, processes,
 * ports.
 */
import { join } from "node:path";
import { cgroupLeftovers, endHolder, endMarked, markedProcesses, mountedBy } from "../../process/index.ts";
import { type Leftover, sessionsDir } from "../../util/index.ts";
import { CapsuleDir } from "../dir/capsule-dir.ts";
import { listLeases, releasePorts } from "../dir/port-leases.ts";
import { clearUnfinished } from "../life/build.ts";
import { sessionOfCgroup } from "../life/cgroups.ts";
import type { CapsuleOwner, OwnedCapsule } from "../life/owner.ts";
import type { HomePlace } from "../repo/repo.ts";
import type { KnownSessions } from "./strangers.ts";

export function unfinished(capsules: readonly OwnedCapsule[]): Leftover[] {
  return capsules
    .filter(({ isUnfinished, isPassing, custody }) => (isUnfinished || isPassing) && !custody.isBusy)
    .map(({ layout, custody, isPassing }) => ({
      what: layout.dir,
      why: isPassing
        ? "checks or an action ran in it until they were killed"
        : "a capsule that was never finished",
      isCache: false,
      paths: [layout.dir],
      // It may have been finished since.
      clear: () =>
        custody.alone(async () => {
          if (isPassing || !(await layout.isThere())) await clearUnfinished(layout);
        }),
    }));
}

/** Holders and stray processes of capsules that no session process uses: a session at rest has no process. */
export function processes(owners: readonly CapsuleOwner[]): Leftover[] {
  const marks = new Set(markedProcesses().map(({ mark }) => mark));
  return [...marks].flatMap((mark) => {
    // The process itself reports it.
    const custody = owners.map((owner) => owner.custodyOf(mark)).find((one) => one !== undefined);
    if (!custody || custody.isBusy) return [];
    const holder = new CapsuleDir(mark).readHolder();
    const mount = holder?.mount;
    // A process without the mount only claims to belong there.
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

/** Cgroups of sessions that no process has. */
export function cgroups(
  home: HomePlace,
  owners: readonly CapsuleOwner[],
  sessions: KnownSessions,
): Leftover[] {
  const custodyOf = (name: string) => {
    const session = sessionOfCgroup(home, name);
    if (session === undefined || !sessions.isThere(session)) return undefined;
    const dir = join(sessionsDir(home.dir), session);
    return owners.map((owner) => owner.custodyOf(dir)).find((one) => one !== undefined);
  };
  // Cgroups of other homes belong to them.
  const isLive = (name: string) =>
    sessionOfCgroup(home, name) === undefined || (custodyOf(name)?.isBusy ?? false);
  return cgroupLeftovers(isLive).map((cgroup) => ({
    what: `cgroup ${cgroup.name}`,
    why: "its session's process ended before it was taken away",
    isCache: false,
    clear: () => {
      const custody = custodyOf(cgroup.name);
      return custody ? custody.alone(() => cgroup.end()) : cgroup.end();
    },
  }));
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
