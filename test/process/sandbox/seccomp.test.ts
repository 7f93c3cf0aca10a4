/**
 * The filter in a real sandbox: each call that it refuses has to fail with the right errno, for root with and
 * without capabilities and for an ordinary user.
 *
 * There are two controls. Root with all capabilities also makes each call without the filter, and gets
 * another answer. And every caller runs under a filter with marked errnos, which shows that the filter
 * refused the call, and not the kernel for lack of rights.
 */
import { spawnSync } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { openSeccomp, seccompProgram } from "../../../src/process/sandbox/seccomp.ts";
import { type Architecture, numberOf, type SystemCall } from "../../../src/process/sandbox/syscalls.ts";
import { type Call, errnosOf, whyNoCalls } from "../../support/calls.ts";
import { hasSandbox } from "../../support/capsules.ts";
import { filtered, withView } from "../../support/filter.ts";
import { TempDir } from "../../support/home.ts";
import { asNobody, whyNotNobody } from "../../support/nobody.ts";

const isRoot = process.getuid?.() === 0;
const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
const why = !hasSandbox ? "bubblewrap is not installed" : whyNoCalls;
if (why) leaveOut("the filter of system calls", why);

const architecture = process.arch as Architecture;
const view = withView("--ro-bind");
const [EPERM, EBADF, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP, EAFNOSUPPORT] = [1, 9, 38, 93, 95, 97];
const MARK = 200;

interface Row extends Call {
  readonly title: string;
  readonly errno: number;
}

const NONE = "/nonexistent/x";
const AT_CWD = -100;
const BAD = 1;
const CREATE = 0o101;
const SET_UID = 0o4755;
const rows: Row[] = [
  ...["mount", "cgroup", "uts", "ipc", "user", "pid", "net"].flatMap((name, index) => {
    const flag = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000][index] ?? 0;
    // With an invalid flag added, so that nothing is made even without a filter.
    return [...row("clone", [flag | 0x10000], EPERM, name), ...row("unshare", [flag | 1], EPERM, name)];
  }),
  ...row("unshare", [0x80 | 1], EPERM, "time"),
  ...row("clone3", [0, 0], ENOSYS),
  ...row("setns", [-1, 0], EPERM),
  ...row("mount", [NONE, NONE, "none", 0, 0], EPERM),
  ...row("umount2", [NONE, 0], EPERM),
  ...row("pivot_root", [NONE, NONE], EPERM),
  ...row("chroot", [NONE], EPERM),
  ...row("open_tree", [AT_CWD, NONE, 0], EPERM),
  ...row("open_tree_attr", [AT_CWD, NONE, 0, 0, 0], EPERM),
  ...row("move_mount", [-1, NONE, -1, NONE, 0], EPERM),
  ...row("fsopen", ["none", 0], EPERM),
  ...row("fsconfig", [-1, 0, 0, 0, 0], EPERM),
  ...row("fsmount", [-1, 0, 0], EPERM),
  ...row("fspick", [AT_CWD, NONE, 0], EPERM),
  ...row("mount_setattr", [AT_CWD, NONE, 0, 0, 0], EPERM),
  ...row("name_to_handle_at", [AT_CWD, NONE, BAD, BAD, 0], EPERM),
  ...row("open_by_handle_at", [-1, BAD, 0], EPERM),
  ...row("fanotify_init", [-1, 0], EPERM),
  ...row("keyctl", [999, 0, 0, 0, 0], EPERM),
  ...row("add_key", [BAD, BAD, BAD, 8, 0], EPERM),
  ...row("request_key", [BAD, BAD, BAD, 0], EPERM),
  ...row("bpf", [9999, 0, 0], EPERM),
  ...row("perf_event_open", [BAD, 0, 0, -1, 0], EPERM),
  ...row("userfaultfd", [0x7fffffff], EPERM),
  ...row("io_uring_setup", [1, 0], EPERM),
  ...row("io_uring_enter", [-1, 0, 0, 0, 0, 0], EPERM),
  ...row("io_uring_register", [-1, 0, 0, 0], EPERM),
  ...row("kexec_load", [0, 1 << 20, 0, 0], EPERM),
  ...row("kexec_file_load", [-1, -1, 0, 0, 0xffff], EPERM),
  ...row("init_module", [0, 0, BAD], EPERM),
  ...row("finit_module", [-1, "none", 0], EPERM),
  ...row("delete_module", ["holdfast_no_such_module", 0], EPERM),
  ...row("reboot", [0, 0, 0, 0], EPERM),
  ...row("swapon", [NONE, 0], EPERM),
  ...row("swapoff", [NONE], EPERM),
  ...row("acct", [NONE], EPERM),
  ...row("syslog", [10, 0, 0], EPERM),
  ...row("quotactl", [0x80000700, NONE, 0, 0], EPERM),
  ...row("quotactl_fd", [-1, 0x80000700, 0, 0], EPERM),
  ...row("nfsservctl", [0, 0, 0], EPERM),
  ...row("lookup_dcookie", [0, 0, 0], EPERM),
  ...row("ioperm", [0, 1, 0], EPERM),
  ...row("iopl", [0], EPERM),
  ...row("clock_settime", [0, BAD], EPERM),
  ...row("settimeofday", [BAD, 0], EPERM),
  ...row("ioctl", [-1, 0x5412, 0], EPERM, "TIOCSTI"),
  ...row("ioctl", [-1, 0x541c, 0], EPERM, "TIOCLINUX"),
  ...row("ioctl", [-1, 2 ** 32 + 0x5412, 0], EPERM, "TIOCSTI, with a high bit that the kernel ignores"),
  ...row("personality", [0x400000], EPERM, "readable memory becomes executable"),
  ...row("personality", [0x100000], EPERM, "memory is mapped at address 0"),
  ...row("open", [NONE, CREATE, SET_UID], EPERM, "set-user-id"),
  ...row("open", [NONE, 0o20000001, SET_UID], EPERM, "set-user-id, without a name"),
  ...row("creat", [NONE, SET_UID], EPERM, "set-user-id"),
  ...row("openat", [AT_CWD, NONE, CREATE, SET_UID], EPERM, "set-user-id"),
  ...row("openat", [AT_CWD, NONE, 0o20000001, SET_UID], EPERM, "set-user-id, without a name"),
  ...row("openat2", [AT_CWD, NONE, BAD, 24], ENOSYS),
  ...row("chmod", [NONE, SET_UID], EPERM, "set-user-id"),
  ...row("fchmod", [-1, SET_UID], EPERM, "set-user-id"),
  ...row("fchmodat", [AT_CWD, NONE, SET_UID], EPERM, "set-user-id"),
  ...row("fchmodat2", [AT_CWD, NONE, SET_UID, 0], EPERM, "set-user-id"),
  ...row("mknod", [NONE, 0o100000 | SET_UID, 0], EPERM, "set-user-id"),
  ...row("mknodat", [AT_CWD, NONE, 0o100000 | SET_UID, 0], EPERM, "set-user-id"),
  ...row("mknod", [NONE, 0o20666, 0], EPERM, "an overlay's whiteout"),
  ...row("mknodat", [AT_CWD, NONE, 0o20666, 0], EPERM, "an overlay's whiteout"),
  ...row("mknodat", [AT_CWD, NONE, 0o60666, 0], EPERM, "a disk"),
  ...row("fallocate", [-1, 0x1, 0, 1], EOPNOTSUPP, "space beyond the end of a file"),
  ...row("fallocate", [-1, 0x11, 0, 1], EOPNOTSUPP, "zeros beyond the end of a file"),
  ...row("fallocate", [-1, 0x41, 0, 1], EOPNOTSUPP, "space of its own beyond the end of a file"),
  ...row("fallocate", [-1, 0x20, 0, 1], EOPNOTSUPP, "an inserted range"),
  ...row("ioctl", [-1, 0x40305828, 0], EOPNOTSUPP, "space beyond the end of a file"),
  ...row("ioctl", [-1, 0x4030582a, 0], EOPNOTSUPP, "space beyond the end of a file, with more bits"),
  ...row("ioctl", [-1, 0x40305839, 0], EOPNOTSUPP, "zeros beyond the end of a file"),
  ...row("socket", [16, 3, 4], EPROTONOSUPPORT, "netlink for a list of sockets"),
  ...row("socket", [16, 3, 15], EPROTONOSUPPORT, "netlink for device events"),
  ...row("socket", [2, 10, 0], EAFNOSUPPORT, "packets, by the old type of socket"),
  ...row("socket", [17, 3, 0], EAFNOSUPPORT, "packets"),
];

/** The kernel may lack these itself, so the control without the filter leaves them out. */
const families = { bluetooth: 31, algorithms: 38, tipc: 30, can: 29, vsock: 40, rds: 21, xdp: 44 };
const unsure: Row[] = [
  ...Object.entries(families).flatMap(([name, family]) => row("socket", [family, 5, 0], EAFNOSUPPORT, name)),
  ...row("socketpair", [30, 1, 0, BAD], EAFNOSUPPORT, "tipc"),
  ...(architecture === "x64"
    ? [{ title: "getpid of x32", number: 0x40000000 + 39, args: [], errno: ENOSYS }]
    : []),
];

/** Calls that resemble the refused ones. Without a file, the kernel itself refuses `fallocate`. */
const allowed: Row[] = [
  ...row("openat", [AT_CWD, "/", 0, SET_UID], 0, "a mode that is ignored, because no file is made"),
  ...row("openat", [AT_CWD, "/tmp/made", CREATE, 0o755], 0, "a file"),
  ...row("fchmodat", [AT_CWD, "/tmp/made", 0o2755], 0, "set-group-id, as git gives it to shared directories"),
  ...row("mknodat", [AT_CWD, "/tmp/pipe", 0o10666, 0], 0, "a pipe"),
  ...row("fallocate", [-1, 0, 0, 1], EBADF, "space up to the limit of a file's size"),
  ...row("fallocate", [-1, 0x3, 0, 1], EBADF, "a hole"),
  ...row("fallocate", [-1, 0x8, 0, 1], EBADF, "a range that is taken out"),
  ...row("fallocate", [-1, 0x10, 0, 1], EBADF, "zeros up to the limit of a file's size"),
  ...row("ioctl", [-1, 0x4030582b, 0], EBADF, "a hole"),
  ...row("socket", [1, 1, 0], 0, "unix"),
  ...row("socket", [2, 1 | 0o2000000, 0], 0, "inet"),
  ...row("socket", [10, 2, 0], 0, "inet6"),
  ...row("socket", [16, 3, 0], 0, "netlink for a list of addresses"),
  ...row("personality", [0xffffffff], 0, "only asked for"),
  ...row("personality", [0x40000], 0, "no address randomization"),
  ...row("personality", [0x8], 0, "a 32-bit machine's name"),
];

/**
 * A 32-bit program that exits with 42, in the smallest file that the kernel runs: a header, one segment,
 * three instructions.
 */
function oldProgram(): Buffer {
  const code = Buffer.from("b801000000bb2a000000cd80", "hex");
  const header = Buffer.from("7f454c4601010100000000000000000002000300010000005480040834000000", "hex");
  const rest = Buffer.from("0000000000000000340020000100000000000000", "hex");
  const segment = Buffer.alloc(32);
  for (const [index, word] of [1, 0, 0x8048000, 0x8048000, 96, 96, 5, 4096].entries())
    segment.writeUInt32LE(word, index * 4);
  return Buffer.concat([header, rest, segment, code]);
}

function row(call: SystemCall, args: readonly (number | string)[], errno: number, what?: string): Row[] {
  const number = numberOf(call, architecture);
  return number === null ? [] : [{ title: what ? `${call}: ${what}` : call, number, args, errno }];
}

/** With our filter, or with this program as the filter. */
function withFilter<T>(use: (fd: number) => T, program?: Buffer): T {
  const fd = program ? openBytes(program) : openSeccomp();
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function openBytes(bytes: Buffer): number {
  using temp = new TempDir();
  writeFileSync(temp.join("program"), bytes);
  return openSync(temp.join("program"), "r");
}

/** The same filter, with errnos that no kernel has. */
function marked(): Buffer {
  const bytes = seccompProgram(architecture);
  for (let at = 0; at < bytes.length; at += 8) {
    const value = bytes.readUInt32LE(at + 4);
    if (bytes.readUInt16LE(at) === 0x06 && value >>> 16 === 0x5) bytes.writeUInt32LE(value + MARK, at + 4);
  }
  return bytes;
}

const answered = (asked: readonly Row[], errnos: readonly number[]) =>
  asked.map(({ title }, index) => `${title}: ${errnos[index]}`);
const wanted = (asked: readonly Row[], mark = 0) =>
  asked.map(({ title, errno }) => `${title}: ${errno + mark}`);

const callers = [
  {
    name: "root with all capabilities",
    words: ["bwrap", ...view],
    why: isRoot ? undefined : "this is not root",
  },
  {
    name: "root without capabilities",
    words: ["bwrap", "--cap-drop", "ALL", ...view],
    why: isRoot ? undefined : "this is not root",
  },
  { name: "an ordinary user", words: [...asNobody, "bwrap", "--unshare-user", ...view], why: whyNotNobody },
];

describe.skipIf(why)("the filter of system calls", () => {
  for (const { name, words, why } of callers) {
    if (why) leaveOut(`system calls of ${name}`, why);
    describe.skipIf(why)(`for ${name}`, () => {
      const all = [...rows, ...unsure];

      it("seccomp-1 refuses each forbidden call with its errno", () => {
        const errnos = withFilter((fd) => errnosOf(all, [...words, ...filtered, "--"], fd));
        expect(answered(all, errnos)).toEqual(wanted(all));
      });

      it("seccomp-1 refuses by itself, before the kernel checks the caller's rights", () => {
        const errnos = withFilter((fd) => errnosOf(all, [...words, ...filtered, "--"], fd), marked());
        expect(answered(all, errnos)).toEqual(wanted(all, MARK));
      });

      it("lets similar calls through", () => {
        const inTmp = [...words, "--tmpfs", "/tmp"];
        const errnos = withFilter((fd) => errnosOf(allowed, [...inTmp, ...filtered, "--"], fd));
        expect(answered(allowed, errnos)).toEqual(wanted(allowed));
      });
    });
  }

  it.skipIf(!isRoot)("control: without the filter, none of these calls gets the same answer", () => {
    const errnos = errnosOf(rows, ["bwrap", ...view, "--"]);
    const same = rows.filter(({ errno }, index) => errnos[index] === errno);
    expect(same.map(({ title }) => title)).toEqual([]);
  });

  it.skipIf(architecture !== "x64")("kills a program of another architecture", () => {
    using temp = new TempDir();
    writeFileSync(temp.join("old"), oldProgram(), { mode: 0o755 });
    const run = (words: readonly string[], ...fds: number[]) =>
      spawnSync("bwrap", [...view, ...words, "--", temp.join("old")], {
        stdio: ["ignore", "pipe", "pipe", ...fds],
      });
    const plain = run([]);
    if (plain.status !== 42) return leaveOut("a 32-bit program", `this kernel runs none: ${plain.stderr}`);
    const { status } = withFilter((fd) => run(filtered, fd));
    expect(status).toBe(128 + constants.signals.SIGSYS);
  });
});
