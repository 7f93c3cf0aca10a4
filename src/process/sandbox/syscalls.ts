/**
 * Owns the numbers of the system calls that the filter mentions, for the architectures that it knows. The
 * kernel never gives a number to another call, so nothing here ever changes; new calls are added.
 */

/** By Node's name, with the value that the kernel passes to a filter. */
export const ARCHITECTURES = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

export type Architecture = keyof typeof ARCHITECTURES;

export function isKnownArchitecture(name: string): name is Architecture {
  return Object.hasOwn(ARCHITECTURES, name);
}

/** On x86_64 and on aarch64; null if the architecture never had the call. */
const NUMBERS = {
  open: [2, null],
  creat: [85, null],
  openat: [257, 56],
  openat2: [437, 437],
  chmod: [90, null],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  fallocate: [285, 47],
  fcntl: [72, 25],
  io_setup: [206, 0],
  mknod: [133, null],
  mknodat: [259, 33],
  clone: [56, 220],
  clone3: [435, 435],
  unshare: [272, 97],
  setns: [308, 268],
  ioctl: [16, 29],
  socket: [41, 198],
  socketpair: [53, 199],
  personality: [135, 92],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  clock_settime: [227, 112],
  settimeofday: [164, 170],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  ioperm: [173, null],
  iopl: [172, null],
} as const;

export type SystemCall = keyof typeof NUMBERS;

export const SYSTEM_CALLS = Object.keys(NUMBERS) as SystemCall[];

export function numberOf(call: SystemCall, architecture: Architecture): number | null {
  return NUMBERS[call][ARCHITECTURES[architecture].column];
}
