/**
 * Bubblewrap's words for tests of the filter of system calls: the machine as it is, with processes of its own.
 */
export const withView = (bind: "--bind" | "--ro-bind"): string[] => [
  ...[bind, "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"],
];

/** The filter is the first descriptor behind the streams. */
export const filtered: readonly string[] = ["--seccomp", "3"];
