/**
 * Arguments of bubblewrap for tests of the filter of system calls: the machine's files, and a process
 * namespace.
 */
export const withView = (bind: "--bind" | "--ro-bind"): string[] => [
  ...[bind, "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"],
];

/** The filter is the first descriptor after the standard streams. */
export const filtered: readonly string[] = ["--seccomp", "3"];
