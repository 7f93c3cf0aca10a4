/**
 * Owns which requests to the kernel are refused in the sandbox, and with which error. The errors are those of
 * a kernel that does not support or does not allow the request: programs know these, and continue without it.
 *
 * Debuggers are legitimate tools, and a process sees only those of its own sandbox, so ptrace and
 * process_vm_* are allowed. So are adjtimex and clock_adjtime, with which any user may read the clock:
 * setting it takes a capability.
 */
import type { SystemCall } from "./syscalls.ts";

/**
 * Tests the low 32 bits of one argument. These calls ignore the high bits; testing those would open a way
 * around.
 */
export interface ArgumentTest {
  /** Its number, from zero. */
  readonly arg: number;
  /** Only these bits count. Default: all 32. */
  readonly mask?: number;
  /** Whether it is one of the values, or none of them. */
  readonly is: "in" | "not in";
  readonly values: readonly number[];
}

export interface RefusedCall {
  readonly call: SystemCall;
  readonly errno: number;
  /** Refused if all of these are true; always refused if there are none. */
  readonly when: readonly ArgumentTest[];
}

const EPERM = 1;
const EINVAL = 22;
export const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** Mounts, cgroups, host names, shared memory, users, pids, networks. */
const CLONE_NEW = 0x7e02_0000;
/** Clocks; in the flags of `clone` this bit belongs to a signal's number. */
const CLONE_NEWTIME = 0x80;

/** Typing into a terminal, and the selection of a console, which can also type. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
/** getaddrinfo, Go and Node use it to learn which addresses exist. */
const NETLINK_ROUTE = 0;
const SOCK_TYPE_MASK = 0xf;
/** With AF_INET, it makes a socket of AF_PACKET. */
const SOCK_PACKET = 10;

const S_ISUID = 0o4000;
const S_IFMT = 0o170000;
const [S_IFCHR, S_IFBLK] = [0o020000, 0o060000];
/** O_CREAT, or the bit that only O_TMPFILE has: without them, the mode is whatever was in a register. */
const MAKES_FILE = 0o100 | 0o20000000;

/** Flags of `fallocate`. Freeing a range also needs KEEP_SIZE. */
const [KEEP_SIZE, PUNCH_HOLE, INSERT_RANGE] = [0x1, 0x2, 0x20];
/** F_SETLEASE and F_SETDELEG. */
const LEASES = [1024, 1040];
/** The older way to ask for space beyond the end of a file: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE. */
const TAKES_SPACE = [0x4030_5828, 0x4030_582a, 0x4030_5839];

/**
 * The name of a 32-bit machine, the name of an old version, addresses that are not random (debuggers,
 * sanitizers).
 */
const HARMLESS_PERSONALITY = 0x8 | 0x2_0000 | 0x4_0000;
/** Asks for the present value. */
const ASK_PERSONALITY = 0xffff_ffff;

const isOneOf = (arg: number, ...values: number[]): ArgumentTest => ({ arg, is: "in", values });
const isNoneOf = (arg: number, ...values: number[]): ArgumentTest => ({ arg, is: "not in", values });
const hasAny = (arg: number, mask: number): ArgumentTest => ({ arg, mask, is: "not in", values: [0] });
const refuse = (call: SystemCall, errno: number, ...when: ArgumentTest[]) => ({ call, errno, when });

/** In the order of the filter: calls that are frequent, and usually allowed, come first. */
export const REFUSALS: readonly RefusedCall[] = [
  // A program with a set-user-id bit would give its owner's rights to any user of the host who finds it.
  refuse("openat", EPERM, hasAny(2, MAKES_FILE), hasAny(3, S_ISUID)),
  refuse("open", EPERM, hasAny(1, MAKES_FILE), hasAny(2, S_ISUID)),
  refuse("creat", EPERM, hasAny(1, S_ISUID)),
  refuse("chmod", EPERM, hasAny(1, S_ISUID)),
  refuse("fchmod", EPERM, hasAny(1, S_ISUID)),
  refuse("fchmodat", EPERM, hasAny(2, S_ISUID)),
  refuse("fchmodat2", EPERM, hasAny(2, S_ISUID)),
  refuse("mknod", EPERM, hasAny(1, S_ISUID)),
  refuse("mknodat", EPERM, hasAny(2, S_ISUID)),
  // Any user may make the device 0:0, with which an overlay marks a file of the layer below as removed.
  refuse("mknod", EPERM, { ...isOneOf(1, S_IFCHR, S_IFBLK), mask: S_IFMT }),
  refuse("mknodat", EPERM, { ...isOneOf(2, S_IFCHR, S_IFBLK), mask: S_IFMT }),
  // The kernel compares only the new size of a file with its limit. Space beyond the end leaves the size as it
  // is, and a range that is inserted is not compared at all. Either way one call could take the whole disk.
  refuse("fallocate", EOPNOTSUPP, { ...isOneOf(1, KEEP_SIZE), mask: KEEP_SIZE | PUNCH_HOLE }),
  refuse("fallocate", EOPNOTSUPP, hasAny(1, INSERT_RANGE)),
  refuse("ioctl", EOPNOTSUPP, isOneOf(1, ...TAKES_SPACE)),
  // A lease holds up every other program that opens the file, and files of the host are visible inside.
  refuse("fcntl", EINVAL, isOneOf(1, ...LEASES)),
  // Its mode and flags are in memory, which a filter can't read. So are the flags of clone3.
  refuse("openat2", ENOSYS),
  refuse("clone3", ENOSYS),

  refuse("clone", EPERM, hasAny(0, CLONE_NEW)),
  refuse("unshare", EPERM, hasAny(0, CLONE_NEW | CLONE_NEWTIME)),
  refuse("setns", EPERM),
  refuse("ioctl", EPERM, isOneOf(1, TIOCSTI, TIOCLINUX)),
  refuse("personality", EPERM, isNoneOf(0, ASK_PERSONALITY), hasAny(0, ~HARMLESS_PERSONALITY >>> 0)),

  // A network namespace does not confine other kinds of sockets: vsock leads to the machine's host.
  refuse("socket", EAFNOSUPPORT, isNoneOf(0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)),
  refuse("socket", EPROTONOSUPPORT, isOneOf(0, AF_NETLINK), isNoneOf(2, NETLINK_ROUTE)),
  refuse("socket", EAFNOSUPPORT, isOneOf(0, AF_INET), { ...isOneOf(1, SOCK_PACKET), mask: SOCK_TYPE_MASK }),
  refuse("socketpair", EAFNOSUPPORT, isNoneOf(0, AF_UNIX)),

  // All programs of the machine share one number of these contexts. Databases continue without.
  refuse("io_setup", ENOSYS),

  // The mounts are settled before the program starts.
  ...always("mount", "umount2", "pivot_root", "chroot", "mount_setattr", "open_tree", "open_tree_attr"),
  ...always("move_mount", "fsopen", "fsconfig", "fsmount", "fspick"),
  // Files by number, which bypasses directories, and notifications about files that others open.
  ...always("name_to_handle_at", "open_by_handle_at", "fanotify_init"),
  // Keyrings belong to a user, not to a sandbox.
  ...always("keyctl", "add_key", "request_key"),
  // Large parts of the kernel that few programs need and many attacks have used. io_uring also bypasses this
  // filter.
  ...always("bpf", "perf_event_open", "userfaultfd"),
  ...always("io_uring_setup", "io_uring_enter", "io_uring_register"),
  // Calls that affect the whole machine.
  ...always("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
  ...always("swapon", "swapoff", "acct", "syslog", "quotactl", "quotactl_fd", "ioperm", "iopl"),
  ...always("clock_settime", "settimeofday", "nfsservctl", "lookup_dcookie"),
];

function always(...calls: SystemCall[]): RefusedCall[] {
  return calls.map((call) => refuse(call, EPERM));
}
