/**
 * Owns what a command writes to the kernel about itself before it becomes the command: the cgroup that counts
 * it, and that it is ended first when memory runs out. One shell writes all of it, and becomes the command.
 * If a write fails, the command does not start.
 */
export interface FirstWrite {
  readonly text: string;
  readonly file: string;
}

/** The words that go before the command. */
export function writingFirst(writes: readonly FirstWrite[]): string[] {
  if (writes.length === 0) return [];
  const steps = writes.map((_, index) => `echo "\${${2 * index + 1}}" >"\${${2 * index + 2}}"`);
  const script = [...steps, `shift ${2 * writes.length}`, 'exec "$@"'].join(" && ");
  return ["/bin/sh", "-c", script, "holdfast-first", ...writes.flatMap(({ text, file }) => [text, file])];
}
