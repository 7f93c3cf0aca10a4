/**
 * An agent that uses up processes, memory, files, space, terminals and watches. Each bomb has an end of its
 * own, so that the machine survives if a guard fails. A session beside it must go on.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeCgroup } from "../../src/process/cgroup.ts";
import { Place } from "../support/attacked-home.ts";
import { type Caller, callers, leaveOut, perl, whyNoAttacks } from "../support/attacks.ts";

interface Bomb {
  readonly title: string;
  /** Prints `took` and how much it got, and holds that for a while. */
  readonly script: string;
  /** How much it may get at most. It tries to get more. */
  readonly most?: number;
  /** The quota that its session is ended for. Then it may end before it prints how much it got. */
  readonly quota?: string;
  /** Whether the kernel may stop it before the watch ends its session. Then it prints how much it got. */
  readonly isKept?: boolean;
  /** Whether the limit is that of the session's own user namespace, which root's sessions do not have. */
  readonly isOfUser?: boolean;
  /** A word that a session beside it prints if it gets some of this too. */
  readonly leaves?: string;
  /** Whether it gets all that it asks for in a session with a larger quota. */
  readonly hasControl?: boolean;
}

const HOLD_S = 2;
const INOTIFY_INIT1 = process.arch === "arm64" ? 26 : 294;
const counting = (most: number, take: string) =>
  perl(
    `$| = 1; my $n = 0; my @kept; my $take = sub { ${take} }; $n++ while $n < ${most} && $take->(); print "took $n\n"; sleep ${HOLD_S};`,
  );
const MAX_PROCESSES = 100;
const MAX_MEGABYTES = 100;
/** It fits on the disk: only the limit of the session can refuse it. */
const ASKED_MEGABYTES = 3 * MAX_MEGABYTES;
const allOf = (path: string) => `"${path}"; echo took $(($(stat -c %b "${path}") / 2048))`;
const MAX_WATCHERS = Number(readFileSync("/proc/sys/fs/inotify/max_user_instances", "utf8"));
const MAX_MEMORY_MB = 512;
const PIECE_MB = 32;

/** Whether the kernel counts this caller's memory, and so limits the bomb. Otherwise the watch ends it. */
function countsMemory({ words }: Caller): boolean {
  // What holds for the user who runs the tests may not hold for another user.
  if (words.length > 0) return false;
  const trial = makeCgroup(`bombs-${process.pid}`, { maxProcesses: 10, maxMemoryBytes: 1024 * 1024 });
  trial?.end().catch(() => {});
  return trial?.limits.memory ?? false;
}

/**
 * Each group runs in one session. A bomb that ends its session, or takes what another one needs, is alone there.
 */
const groups: readonly (readonly Bomb[])[] = [
  [
    {
      title: "processes",
      script: perl(`$| = 1; my $n = 0;
        while ($n < 2000) { my $p = fork(); last unless defined $p; if (!$p) { sleep ${HOLD_S}; exit } $n++ }
        print "took $n\n"; sleep ${HOLD_S}`),
      most: 3 * MAX_PROCESSES,
      quota: "processes",
    },
  ],
  [
    {
      title: "threads",
      script: `perl -Mthreads -e '$| = 1; my $n = 0;
        while ($n < 2000) { my $t = threads->create(sub { sleep ${HOLD_S} }); last unless $t; $t->detach; $n++ }
        print "took $n\n"; sleep ${HOLD_S}'`,
      most: 3 * MAX_PROCESSES,
      quota: "processes",
    },
  ],
  [
    {
      title: "processes that start copies of themselves",
      script: "b() { [ $1 -gt 9 ] || { b $(($1 + 1)) & b $(($1 + 1)) & sleep 1; }; }; b 0",
      quota: "processes",
    },
  ],
  [
    {
      title: "memory",
      script: counting(40, `push(@kept, "x" x (${PIECE_MB} * 1048576 + $n))`),
      quota: "memory",
    },
  ],
  [
    {
      title: "space of TMPDIR",
      script: `head -c ${ASKED_MEGABYTES}M /dev/zero > ${allOf("$TMPDIR/full")}`,
      most: MAX_MEGABYTES,
      quota: "bytes",
      isKept: true,
      hasControl: true,
    },
  ],
  [
    {
      title: "files of the checkout",
      script: "mkdir -p many; cd many; seq 1 8000 | xargs touch; sleep 60",
      quota: "files",
    },
  ],
  [
    {
      title: "space of TMPDIR in one call",
      script: `fallocate -l ${ASKED_MEGABYTES}M ${allOf("$TMPDIR/huge")}`,
      most: MAX_MEGABYTES,
      hasControl: true,
    },
    {
      title: "space of the checkout in one call",
      script: `fallocate -l ${ASKED_MEGABYTES}M ${allOf("huge")}`,
      most: MAX_MEGABYTES,
      hasControl: true,
    },
    // escapes-kernel has the control of this one: without the filter of system calls.
    {
      title: "space beyond the end of a file",
      script: `touch beyond; fallocate -n -l ${ASKED_MEGABYTES}M ${allOf("beyond")}`,
      most: MAX_MEGABYTES,
    },
    {
      title: "space of /dev/shm",
      script: `head -c ${ASKED_MEGABYTES}M /dev/zero > ${allOf("/dev/shm/full")}`,
      most: MAX_MEGABYTES,
    },
    // In memory, which has a limit of its own. It only matters that the session beside it goes on.
    { title: "files of /tmp", script: counting(20_000, 'open(my $f, ">", "/tmp/many-$n")') },
    {
      title: "terminals",
      script: counting(5000, 'my $p; sysopen($p, "/dev/ptmx", 2) && push(@kept, $p)'),
      most: 4096,
      leaves: "terminal",
    },
    {
      title: "inotify watches",
      script: counting(5000, `syscall(${INOTIFY_INIT1}, 0) >= 0`),
      most: Math.floor(MAX_WATCHERS / 2),
      isOfUser: true,
      leaves: "watch",
    },
  ],
];

const settingsWith = (maxMegabytes: number) => `quota:
  processes: ${MAX_PROCESSES}
  disk_mb: ${maxMegabytes}
  files: 5000
  memory_mb: ${MAX_MEMORY_MB}
`;
const TAKES = perl(
  `sysopen(my $p, "/dev/ptmx", 2) and print "terminal\n"; syscall(${INOTIFY_INIT1}, 0) >= 0 and print "watch\n"`,
);
const work = `for i in 1 2 3 4 5 6 7 8; do (sleep 0.1; echo x > $i) & done; wait; ls | grep -c '^[1-8]$'
  echo x > $TMPDIR/own && echo worked; ${TAKES}`;

/** All bombs of a session at once, each with its index before what it prints. */
const setOff = (bombs: readonly Bomb[]) =>
  bombs.map(({ script }, index) => `(${script}) 2>&1 | sed 's/^/${index}: /' &`).join("\n");

/** Whether the sessions beside it have some left. docs/security.md names where they have not. */
const hasLeft = ({ title, leaves, isOfUser }: Bomb, { name }: Caller): boolean => {
  if (leaves === undefined) return false;
  if (isOfUser && name !== "root") return true;
  leaveOut(`${title} for the session beside it, as ${name}`, "the kernel counts them for the whole machine");
  return false;
};

/** Undefined for a bomb that was ended before it could print it. */
function tookOf(said: string, index: number): number | undefined {
  const took = new RegExp(`^${index}: took (\\d+)$`, "m").exec(said)?.[1];
  return took === undefined ? undefined : Number(took);
}

if (whyNoAttacks) leaveOut("bombs", whyNoAttacks);
for (const caller of callers) {
  if (caller.why) leaveOut(`bombs, as ${caller.name}`, caller.why);
  else if (!countsMemory(caller))
    leaveOut(
      `the kernel's bound of memory, as ${caller.name}`,
      "no cgroup counts it: the watch ends the bomb",
    );
  describe.skipIf(whyNoAttacks ?? caller.why)(`bombs, as ${caller.name}`, () => {
    let place: Place;
    const heard = new Map<Bomb, { readonly worked: string; readonly bomb: string }>();
    const controlled = groups.flat().filter(({ hasControl }) => hasControl);
    let control = "";
    const limitSpace = (maxMegabytes: number) => {
      const write = ["sh", "-c", 'printf %s "$1" > "$0"', `${place.home}/settings.yaml`];
      return place.run([...write, settingsWith(maxMegabytes)]);
    };

    beforeAll(async () => {
      place = new Place(caller);
      await place.makeMain({ "a.txt": "one\n" });
      await place.holdfast(["run", "--name", "worker", "--", "true"]);
      await limitSpace(MAX_MEGABYTES);
      for (const bombs of groups) {
        const bomb = place.holdfast(["run", "--", "sh", "-c", `echo begun; ${setOff(bombs)}\nwait`]);
        // Give the bomb a second to go off, unless it ends before.
        await Promise.race([bomb, sleep(1000)]);
        const worked = await place.holdfast(["run", "--session", "worker", "--", "sh", "-c", work]);
        const said = await bomb;
        for (const one of bombs) heard.set(one, { worked, bomb: said });
      }
      await limitSpace(controlled.length * 2 * ASKED_MEGABYTES);
      // Removed at once, because a snapshot of all this would take long.
      const whole = `${setOff(controlled)}\nwait; rm -f huge "$TMPDIR"/*`;
      control = await place.holdfast(["run", "--", "sh", "-c", whole]);
    });
    afterAll(() => place[Symbol.dispose]());

    it.each(groups.flat())("a session goes on beside one that uses up $title", (bomb) => {
      expect(heard.get(bomb)?.worked).toMatch(/^8\nworked$/m);
      expect(heard.get(bomb)?.bomb).toMatch(/^begun$/m);
    });

    it.each(groups.flatMap((bombs) => bombs.map((bomb, index) => ({ ...bomb, bomb, index }))))(
      "a session that uses up $title is kept to its limits or ended",
      ({ bomb, index, most, quota, isKept, isOfUser }) => {
        const said = heard.get(bomb)?.bomb ?? "";
        const took = tookOf(said, index);
        // A bomb whose session was ended may not have printed how much it got.
        if (!quota) expect(took, said).toBeGreaterThanOrEqual(0);
        const isBound = most !== undefined && !(isOfUser && caller.name === "root");
        if (took !== undefined && isBound) expect(took).toBeLessThanOrEqual(most);
        if (quota && !(isKept && took !== undefined))
          expect(said).toMatch(new RegExp(`^\\[quota\\] +${quota}`, "m"));
      },
    );

    it.each(groups.flat().filter((bomb) => hasLeft(bomb, caller)))(
      "a session that uses up $title leaves some for the session beside it",
      (bomb) => {
        expect(heard.get(bomb)?.worked).toMatch(new RegExp(`^${bomb.leaves}$`, "m"));
      },
    );

    it.each(controlled.map((bomb, index) => ({ ...bomb, index })))(
      "control: with a larger quota, $title is all that it asks for",
      ({ index }) => {
        expect(tookOf(control, index), control).toBeGreaterThanOrEqual(ASKED_MEGABYTES);
      },
    );

    it.skipIf(!countsMemory(caller))("a session gets no more memory than its cgroup allows", () => {
      const [memory] = groups.flat().filter(({ quota }) => quota === "memory");
      const said = (memory && heard.get(memory)?.bomb) ?? "";
      expect(tookOf(said, 0) ?? 0).toBeLessThanOrEqual(MAX_MEMORY_MB / PIECE_MB);
    });
  });
}
