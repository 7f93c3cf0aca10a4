/**
 * Ways out of a sandbox through processes: those of the machine, namespaces, mounts. The victim is a process
 * of the task's own user, so that only the sandbox protects it.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type Attempt, callOf, itHolds, type Lab, perl, perlCall } from "../support/attacks.ts";

const isRoot = process.getuid?.() === 0;
const isArm = process.arch === "arm64";
const EPERM = /errno 1(?!\d)|Operation not permitted/;
const GONE = /No such (file|process)|errno (2|3)\b|nothing/;
const pids = ["pids"] as const;
/** An ordinary user's sandbox has two user namespaces. Rights in the inner one do not allow mounting. */
const asRoot = { without: ["filter", "user", "namespaces"], controlAs: "root" } as const;
const [PTRACE, READV] = isArm ? [117, 270] : [101, 310];
const [PIDFD_OPEN, PIDFD_GETFD] = [434, 438];
const [SETHOSTNAME, ADJTIMEX, SCHED_SETSCHEDULER, PRLIMIT] = isArm
  ? [161, 171, 119, 261]
  : [170, 159, 144, 302];
const PTRACE_ATTACH = 16;

const askVictim = (number: number | undefined, words: string) =>
  perl(
    `my @a = (${words}); my $r = syscall(${number}, @a); print $r == -1 ? "errno " . ($! + 0) : "WON $r";`,
  );

const victim: Attempt[] = [
  {
    title: "the victim's command line",
    script: "tr '\\0' ' ' < /proc/$HOST_PID/cmdline | grep victim-of && echo WON",
    without: pids,
  },
  { title: "a signal to the victim", script: "kill -0 $HOST_PID && echo WON", says: GONE, without: pids },
  {
    title: "the victim's environment",
    script: "tr '\\0' '\\n' < /proc/$HOST_PID/environ | grep TOKEN",
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's root",
    script: "ls /proc/$HOST_PID/root/boot /proc/$HOST_PID/root/proc && echo WON",
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's working directory",
    script: 'cat "/proc/$HOST_PID/cwd/secret"',
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's descriptors",
    script: "ls -l /proc/$HOST_PID/fd | grep -q /dev/null && echo WON",
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's memory",
    script: perl('open(M, "<", "/proc/$ENV{HOST_PID}/mem") ? print "WON" : print "errno ", $! + 0'),
    without: pids,
    controlAs: "root",
  },
  {
    title: "ptrace of the victim",
    script: askVictim(PTRACE, `${PTRACE_ATTACH}, $ENV{HOST_PID} + 0, 0, 0`),
    says: GONE,
    without: pids,
    controlAs: "root",
  },
  {
    title: "reading the victim's memory with process_vm_readv",
    // Nothing is at this address. Only a reader that was let in is told so.
    script: perl(
      `my $b = "x" x 8; my $to = pack("PQ", $b, 8); my $from = pack("QQ", 16, 8);
       my @a = ($ENV{HOST_PID} + 0, $to, 1, $from, 1, 0); syscall(${READV}, @a); print "errno ", $! + 0`,
    ),
    wins: /errno 14/,
    says: GONE,
    without: pids,
    controlAs: "root",
  },
  {
    title: "a pidfd of the victim",
    script: askVictim(PIDFD_OPEN, "$ENV{HOST_PID} + 0, 0"),
    says: GONE,
    without: pids,
  },
  {
    title: "a copy of one of the victim's descriptors",
    script: perl(`my $p = syscall(${PIDFD_OPEN}, $ENV{HOST_PID} + 0, 0);
      my $f = $p < 0 ? -1 : syscall(${PIDFD_GETFD}, $p, 0, 0); print $f < 0 ? "errno " . ($! + 0) : "WON";`),
    says: GONE,
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's limits",
    script: askVictim(PRLIMIT, "$ENV{HOST_PID} + 0, 7, 0, 0"),
    says: GONE,
    without: pids,
    controlAs: "root",
  },
  {
    title: "the victim's priority",
    script: "renice -n 19 -p $HOST_PID >/dev/null && echo WON",
    says: GONE,
    without: pids,
  },
  {
    title: "a signal to every process at once",
    script: perl(
      // The attempt with ptrace has stopped it.
      'kill CONT => $ENV{HOST_PID}; kill URG => -1; for (1 .. 20) { last if -e "was-hit"; select(undef, undef, undef, 0.1) } print -e "was-hit" ? "WON" : "sent"',
    ),
    says: /^sent$/,
    without: pids,
  },
  {
    title: "the first process's program",
    script: perl('open(F, ">>", "/proc/1/exe") ? print "WON" : print "errno ", $! + 0'),
    says: /errno (13|26|30|1)\b/,
  },
  {
    title: "the first process's descriptors",
    script:
      "for f in /proc/1/fd/*; do readlink $f; done | grep / | grep -v ^/dev/null && echo WON; echo tried",
    says: /^tried$/,
  },
  {
    title: "extra rights of the first process, which makes the sandbox",
    script: "cat /proc/1/status | grep -E '^(Seccomp|CapEff)'",
    wins: /Seccomp:\s+0/,
    says: /Seccomp:\s+2/,
  },
];

const [NEWNS, NEWUSER, NEWPID, NEWNET] = [0x20000, 0x10000000, 0x20000000, 0x40000000];
const namespaces: Attempt[] = [
  {
    title: "a user namespace",
    script: callOf("unshare", NEWUSER ?? 0),
    says: EPERM,
    without: ["filter", "namespaces"],
  },
  {
    title: "a user namespace by clone",
    script: callOf("clone", (NEWUSER ?? 0) | 17, 0, 0, 0, 0),
    says: EPERM,
    without: ["filter", "namespaces"],
  },
  { title: "a user namespace by clone3", script: callOf("clone3", "x", 64), wins: /WON/, says: /errno 38/ },
  {
    title: "a mount namespace",
    script: callOf("unshare", NEWNS ?? 0),
    says: EPERM,
    without: ["filter", "user", "namespaces"],
  },
  {
    title: "a pid namespace",
    script: callOf("unshare", NEWPID ?? 0),
    says: EPERM,
    without: ["filter", "user", "namespaces"],
  },
  {
    title: "a network namespace",
    script: callOf("unshare", NEWNET ?? 0),
    says: EPERM,
    without: ["filter", "user", "namespaces"],
  },
  {
    title: "unshare(1)",
    script: "unshare -Urm true && echo WON",
    says: EPERM,
    without: ["filter", "namespaces"],
  },
  {
    title: "a sandbox in the sandbox",
    script: "bwrap --ro-bind / / true && echo WON; echo tried",
    says: /tried/,
  },
  {
    title: "another process's namespace",
    script: perl(
      `open(F, "<", "/proc/self/ns/uts"); my @a = (fileno(F), 0); my $r = syscall(${isArm ? 268 : 308}, @a); print $r == -1 ? "errno " . ($! + 0) : "WON"`,
    ),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "a mount",
    script: callOf("mount", "none", "/tmp", "tmpfs", 0, 0),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "a bind mount",
    script: callOf("mount", "/usr", "/tmp", "none", 4096, 0),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "making the root writable again",
    script: callOf("mount", "none", "/", "none", 32, 0),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "unmounting a cover",
    script: callOf("umount2", "/dev/shm", 2),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "a mount with fsopen",
    script: callOf("fsopen", "tmpfs", 0),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "a copy of a mount",
    script: callOf("open_tree", -100, "/", 1),
    says: EPERM,
    ...asRoot,
  },
  {
    title: "chroot",
    script: callOf("chroot", "/tmp"),
    says: EPERM,
    without: ["filter", "user", "namespaces"],
  },
  { title: "pivot_root", script: callOf("pivot_root", "/tmp", "/tmp"), says: EPERM },
  { title: "opening files by handle", script: callOf("open_by_handle_at", -100, "x", 0), says: EPERM },
  {
    title: "watching which files others open",
    script: callOf("fanotify_init", 0, 0),
    says: EPERM,
    without: ["filter", "user", "namespaces"],
    controlAs: "root",
  },
  {
    title: "changing the machine's name",
    script: perlCall(SETHOSTNAME ?? null, "won", 3),
    says: EPERM,
    without: ["user"],
    controlAs: "root",
  },
  { title: "setting the clock", script: "date -s 2020-01-01 >/dev/null && echo WON", says: EPERM },
  {
    title: "setting the clock with clock_settime",
    script: callOf("clock_settime", 0, "\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0"),
    says: EPERM,
  },
  {
    title: "changing the clock's speed",
    script: perlCall(ADJTIMEX ?? null, "\\1\\0\\0\\0".padEnd(4 + 4, "x") + "\\0".repeat(300)),
    says: EPERM,
  },
  {
    title: "a priority above others",
    script: "nice -n -5 sh -c 'echo WON' 2>&1 | grep -q 'cannot set' && echo refused",
    says: /refused/,
  },
  {
    title: "real-time scheduling",
    script: perlCall(SCHED_SETSCHEDULER ?? null, 0, 1, "\\1\\0\\0\\0"),
    says: EPERM,
    without: ["user", "namespaces"],
    controlAs: "root",
  },
  {
    title: "being ended after our own processes when memory runs out",
    script:
      "echo -1000 > /proc/self/oom_score_adj && echo WON; echo -1 > /proc/self/oom_score_adj && echo WON",
    says: /denied|I\/O error/,
  },
];

async function plant(lab: Lab): Promise<AsyncDisposable> {
  const { taskUid } = lab.caller;
  const become = isRoot
    ? ["setpriv", "--reuid", String(taskUid), "--regid", String(taskUid), "--clear-groups"]
    : [];
  spawnSync("sh", ["-c", 'echo PLANTED > "$0/secret"', lab.planted]);
  const [program = "perl", ...args] = [
    ...become,
    "perl",
    "-e",
    '$SIG{URG} = sub { open(F, ">", shift @ARGV) }; $| = 1; print "ready\n"; sleep 1000 while 1',
    join(lab.files, "was-hit"),
    `victim-of-${process.pid}`,
  ];
  const victim: ChildProcess = spawn(program, args, {
    cwd: lab.planted,
    env: { PATH: process.env["PATH"], TOKEN: "PLANTED" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  if (victim.stdout) await once(victim.stdout, "data");
  lab.env["VICTIM"] = `victim-of-${process.pid}`;
  lab.env["HOST_PID"] = String(victim.pid);
  return {
    async [Symbol.asyncDispose]() {
      victim.kill("SIGKILL");
    },
  };
}

itHolds("escapes through processes", [...victim, ...namespaces], plant);
