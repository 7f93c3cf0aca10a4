/**
 * Owns what no program in the sandbox may ask of the kernel, and what it is answered. The answers are those of a kernel
 * that can't do it, or doesn't allow it: programs know these, and do without.
 *
 * Debuggers are real tools, and a process sees only those of its own sandbox: ptrace and process_vm_* are let through.
 * So are adjtimex and clock_adjtime, with which anybody may read the clock: to set it takes a capability.
 */
import type { SystemCall } from "./syscalls.ts";

/** About the low 32 bits of one argument. The others ask for nothing in these calls; to look at them opens a way round. */
export interface ArgumentTest {
  /** Which one, from zero. */
  readonly arg: number;
  /** Only these bits of it count. Default: all 32. */
  readonly mask?: number;
  /** Whether it is one of the values, or none of them. */
  readonly is: "in" | "not in";
  readonly values: readonly number[];
}

export interface Refusal {
  readonly call: SystemCall;
  readonly errno: number;
  /** Refused when all of these are true; always, when there are none. */
  readonly when: readonly ArgumentTest[];
}

const EPERM = 1;
export const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** Mounts, cgroups, host names, shared memory, users, pids, networks. */
const CLONE_NEW = 0x7e02_0000;
/** Clocks; in the flags of `clone` this bit belongs to a signal's number. */
const CLONE_NEWTIME = 0x80;

/** Typing into a terminal, and the selection of a console, which types too. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
/** How getaddrinfo, Go and Node learn which addresses there are. */
const NETLINK_ROUTE = 0;
const SOCK_TYPE_MASK = 0xf;
/** Asked of AF_INET, it makes a socket of AF_PACKET. */
const SOCK_PACKET = 10;

const S_ISUID = 0o4000;
const S_IFMT = 0o170000;
const [S_IFCHR, S_IFBLK] = [0o020000, 0o060000];
/** O_CREAT, or the bit of O_TMPFILE that nothing else has: otherwise the mode is whatever lay in a register. */
const MAKES_FILE = 0o100 | 0o20000000;

/** Of a 32-bit machine's name, an old version's name, addresses that are not random (debuggers, sanitizers). */
const HARMLESS_PERSONALITY = 0x8 | 0x2_0000 | 0x4_0000;
/** What it is now. */
const ASK_PERSONALITY = 0xffff_ffff;

const isOneOf = (arg: number, ...values: number[]): ArgumentTest => ({ arg, is: "in", values });
const isNoneOf = (arg: number, ...values: number[]): ArgumentTest => ({ arg, is: "not in", values });
const hasAny = (arg: number, mask: number): ArgumentTest => ({ arg, mask, is: "not in", values: [0] });
const refuse = (call: SystemCall, errno: number, ...when: ArgumentTest[]) => ({ call, errno, when });

/** The order is that of the filter: what is asked often, and let through in most cases, stands first. */
export const REFUSALS: readonly Refusal[] = [
  // A program with a set-user-id bit would have its owner's rights for whoever finds it on the host.
  refuse("openat", EPERM, hasAny(2, MAKES_FILE), hasAny(3, S_ISUID)),
  refuse("open", EPERM, hasAny(1, MAKES_FILE), hasAny(2, S_ISUID)),
  refuse("creat", EPERM, hasAny(1, S_ISUID)),
  refuse("chmod", EPERM, hasAny(1, S_ISUID)),
  refuse("fchmod", EPERM, hasAny(1, S_ISUID)),
  refuse("fchmodat", EPERM, hasAny(2, S_ISUID)),
  refuse("fchmodat2", EPERM, hasAny(2, S_ISUID)),
  refuse("mknod", EPERM, hasAny(1, S_ISUID)),
  refuse("mknodat", EPERM, hasAny(2, S_ISUID)),
  // Everybody may make the device 0:0, with which an overlay says that a file of the layer below is gone.
  refuse("mknod", EPERM, { ...isOneOf(1, S_IFCHR, S_IFBLK), mask: S_IFMT }),
  refuse("mknodat", EPERM, { ...isOneOf(2, S_IFCHR, S_IFBLK), mask: S_IFMT }),
  // Its mode and flags are in memory, where a filter can't look; so are the flags of clone3.
  refuse("openat2", ENOSYS),
  refuse("clone3", ENOSYS),

  refuse("clone", EPERM, hasAny(0, CLONE_NEW)),
  refuse("unshare", EPERM, hasAny(0, CLONE_NEW | CLONE_NEWTIME)),
  refuse("setns", EPERM),
  refuse("ioctl", EPERM, isOneOf(1, TIOCSTI, TIOCLINUX)),
  refuse("personality", EPERM, isNoneOf(0, ASK_PERSONALITY), hasAny(0, ~HARMLESS_PERSONALITY >>> 0)),

  // A network namespace does not hold what is no network of its own: vsock leads to the machine's host.
  refuse("socket", EAFNOSUPPORT, isNoneOf(0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)),
  refuse("socket", EPROTONOSUPPORT, isOneOf(0, AF_NETLINK), isNoneOf(2, NETLINK_ROUTE)),
  refuse("socket", EAFNOSUPPORT, isOneOf(0, AF_INET), { ...isOneOf(1, SOCK_PACKET), mask: SOCK_TYPE_MASK }),
  refuse("socketpair", EAFNOSUPPORT, isNoneOf(0, AF_UNIX)),

  // What stands where is settled before the program starts.
  ...always("mount", "umount2", "pivot_root", "chroot", "mount_setattr", "open_tree", "open_tree_attr"),
  ...always("move_mount", "fsopen", "fsconfig", "fsmount", "fspick"),
  // Files by number, past every directory; and news of files that others open.
  ...always("name_to_handle_at", "open_by_handle_at", "fanotify_init"),
  // Keyrings belong to a user, not to a sandbox.
  ...always("keyctl", "add_key", "request_key"),
  // Large parts of the kernel that few programs need and many attacks have used; a ring is a way round this filter.
  ...always("bpf", "perf_event_open", "userfaultfd"),
  ...always("io_uring_setup", "io_uring_enter", "io_uring_register"),
  // The machine as a whole.
  ...always("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
  ...always("swapon", "swapoff", "acct", "syslog", "quotactl", "quotactl_fd", "ioperm", "iopl"),
  ...always("clock_settime", "settimeofday", "nfsservctl", "lookup_dcookie"),
];

function always(...calls: SystemCall[]): Refusal[] {
  return calls.map((call) => refuse(call, EPERM));
}
