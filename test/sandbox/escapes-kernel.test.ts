/**
 * Ways out of a sandbox through the kernel: shared memory and queues, keyrings, its own machinery, terminals.
 */
import { spawnSync } from "node:child_process";
import { type Attempt, callOf, itHolds, type Lab, perl, perlCall } from "../support/attacks.ts";

const isArm = process.arch === "arm64";
const EPERM = /errno 1(?!\d)|Operation not permitted/;
const ipc = ["ipc"] as const;
const shared: Attempt[] = [
  {
    title: "System V shared memory",
    script: perl('my $got; shmread($ENV{SHM}, $got, 0, 7) ? print $got : print "errno ", $! + 0'),
    says: /errno (22|43)\b/,
    without: ipc,
  },
  {
    title: "a System V message queue",
    script: perl(
      'my $got; msgrcv($ENV{QUEUE}, $got, 64, 0, 2048) ? print substr($got, 8) : print "errno ", $! + 0',
    ),
    says: /errno (22|43)\b/,
    without: ipc,
  },
  {
    title: "System V semaphores",
    script: perl('defined(semctl($ENV{SEM}, 0, 12, 0)) ? print "WON" : print "errno ", $! + 0'),
    says: /errno (22|43)\b/,
    without: ipc,
  },
  {
    title: "a POSIX message queue",
    script: perlCall(isArm ? 180 : 240, "holdfast-attacked", 0, 0, 0),
    says: /errno 2\b/,
    without: ipc,
  },
  {
    title: "POSIX shared memory",
    script: "cat /dev/shm/holdfast-attacked-*",
    says: /No such file/,
    without: ["view"],
  },
  {
    title: "the session's keyring",
    script: perl(
      'my @s = (10, -3, "user", "holdfast-attacked", 0); my $k = syscall(NUMBER, @s); if ($k < 0) { print "errno ", $! + 0; exit } my $b = "x" x 16; my @r = (11, $k, $b, 16); syscall(NUMBER, @r); print $r[2]'.replaceAll(
        "NUMBER",
        isArm ? "219" : "250",
      ),
    ),
    says: EPERM,
    without: ["filter"],
  },
  {
    title: "adding a key",
    script: callOf("add_key", "user", "won", "x", 1, -3),
    says: EPERM,
    without: ["filter"],
  },
  {
    title: "requesting a key",
    script: callOf("request_key", "user", "holdfast-attacked", 0, 0),
    says: EPERM,
    without: ["filter"],
  },
  {
    title: "the names of keys",
    script: "cat /proc/keys",
    wins: /holdfast-attacked/,
    says: /Permission denied/,
    without: ["keys"],
  },
  {
    title: "the list of users with keys",
    script: "cat /proc/key-users",
    wins: /^\s*\d+:/m,
    says: /Permission denied/,
    without: ["keys"],
  },
];

/** Takes space for a file with a limit of half a megabyte. */
const larger = (take: string) =>
  `rm -f large; touch large; ulimit -f 1024; ${take}; [ $(stat -c %b large) -lt 4096 ] || echo WON`;

const kernel: Attempt[] = [
  { title: "io_uring", script: callOf("io_uring_setup", 1, "\\0".repeat(120)), says: EPERM },
  { title: "bpf", script: callOf("bpf", 0, "\\0".repeat(64), 64), says: EPERM },
  { title: "perf", script: callOf("perf_event_open", "\\0".repeat(128), 0, -1, -1, 0), says: EPERM },
  { title: "userfaultfd", script: callOf("userfaultfd", 1), says: EPERM },
  { title: "the kernel's log", script: callOf("syslog", 10, 0, 0), says: EPERM },
  { title: "loading another kernel", script: callOf("kexec_load", 0, 0, 0, 0), says: EPERM },
  { title: "loading a kernel module", script: callOf("finit_module", -1, "", 0), says: EPERM },
  { title: "restarting the machine", script: callOf("reboot", 0, 0, 0, 0), says: EPERM },
  { title: "turning swap off", script: callOf("swapoff", "/nonexistent"), says: EPERM },
  { title: "I/O ports of the processor", script: isArm ? "echo errno 1" : callOf("iopl", 3), says: EPERM },
  {
    title: "making all readable memory executable",
    script: callOf("personality", 0x400000),
    says: EPERM,
    without: ["filter"],
  },
  {
    title: "typing into a terminal",
    script: perl(
      'use POSIX; POSIX::setsid(); sysopen(M, "/dev/ptmx", 2) or die "$!"; my $z = pack("i", 0); ioctl(M, 0x40045431, $z); my $n = pack("i", 0); ioctl(M, 0x80045430, $n); sysopen(T, "/dev/pts/" . unpack("i", $n), 2) or die "$!"; my $c = "x"; print ioctl(T, 0x5412, $c) ? "WON" : "errno " . ($! + 0)',
    ),
    says: EPERM,
    without: ["filter"],
  },
  {
    title: "a file larger than its limit, beyond its end",
    script: larger("fallocate -n -l 4M large"),
    says: /unsupported/,
    without: ["filter"],
  },
  {
    title: "a file larger than its limit, by an inserted range",
    script: larger("echo x > large; fallocate -i -o 0 -l 4M large; fallocate -l 4M large"),
    says: /not supported/,
    without: ["filter"],
  },
  {
    title: "a file larger than its limit, by an old call",
    script: perl(
      'sysopen(F, "old", 0102) or die "$!"; my $r = pack("s s x4 q q l L l4", 0, 0, 0, 4194304, 0, 0, 0, 0, 0, 0); ioctl(F, 0x4030582a, $r) ? print "WON" : print "errno ", $! + 0',
    ),
    says: /errno 95\b/,
    without: ["filter"],
  },
  {
    title: "a lease, which holds up every other program that opens the file",
    script: perl(
      'open(F, ">", "leased"); close F; open(F, "<", "leased"); print fcntl(F, 1024, 1) ? "WON" : "errno " . ($! + 0)',
    ),
    says: /errno 22\b/,
    without: ["filter"],
  },
  {
    title: "contexts of asynchronous I/O, which all programs of the machine share",
    script: callOf("io_setup", 1, "\\0".repeat(8)),
    says: /errno 38\b/,
    without: ["filter"],
  },
  {
    title: "the terminal of the process that started it",
    script: "(: < /dev/tty) && echo WON",
    says: /No such device|cannot open/,
  },
];

async function plant(lab: Lab): Promise<AsyncDisposable> {
  const made = spawnSync("perl", ["-e", PLANT], { encoding: "utf8" }).stdout.trim().split(" ");
  for (const [index, name] of ["SHM", "QUEUE", "SEM"].entries()) lab.env[name] = made[index] ?? "";
  const memory = `/dev/shm/holdfast-attacked-${process.pid}`;
  spawnSync("sh", ["-c", 'echo PLANTED > "$0"; chmod 666 "$0"', memory]);
  lab.shown.push(memory);
  // Everything that a process starts inherits its session keyring.
  lab.before.push("perl", "-e", KEY);
  return {
    async [Symbol.asyncDispose]() {
      spawnSync("perl", ["-e", UNPLANT, ...made]);
      spawnSync("rm", ["-f", memory]);
    },
  };
}

const PLANT = `my $shm = shmget(0, 4096, 01666); shmwrite($shm, "PLANTED", 0, 7);
  my $queue = msgget(0, 01666); msgsnd($queue, pack("l! a*", 1, "PLANTED"), 0); my $sem = semget(0, 1, 01666);
  umask 0; my ($name) = ("holdfast-attacked"); syscall(${isArm ? 180 : 240}, $name, 66, 438, 0); print "$shm $queue $sem";`;
const UNPLANT = `shmctl($ARGV[0], 0, 0); msgctl($ARGV[1], 0, 0); semctl($ARGV[2], 0, 0, 0);
  my $name = "holdfast-attacked"; syscall(${isArm ? 181 : 241}, $name);`;
const KEY = `my @join = (1, 0); syscall(${isArm ? 219 : 250}, @join);
  my @key = ("user", "holdfast-attacked", "PLANTED", 7, -3); syscall(${isArm ? 217 : 248}, @key); exec @ARGV;`;

itHolds("escapes through the kernel", [...shared, ...kernel], plant);
