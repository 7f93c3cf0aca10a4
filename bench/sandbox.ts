/**
 * Benches of the sandbox: what it adds to the start of a command, under the conditions of a task: in a holder
 * and a cgroup, under limits, with its own directories.
 */
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  endHolder,
  enterHolder,
  findCgroup,
  findTools,
  type Holder,
  launch,
  plainSandbox,
  runProgram,
  startHolder,
  taskUser,
  trySandbox,
} from "../src/process/index.ts";
import { atMost, inTurns, type Row } from "./measure.ts";

const ROUNDS = 15;
const LIMIT_MS = 25;

export async function benchSandbox(directory: string, progress: (text: string) => void): Promise<Row[]> {
  if (await trySandbox()) return [];
  progress("a command in the sandbox");
  const tree = join(directory, "tree");
  mkdirSync(tree, { mode: 0o755 });
  const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/" };
  const tools = findTools({ env: process.env, userHome: env.HOME, read: [], apart: [directory] });
  const user = taskUser("/");
  const dirs = Object.fromEntries(
    ["home", "tmp", "door"].map((name) => {
      const dir = join(directory, name);
      mkdirSync(dir, { mode: 0o700 });
      if (user) chownSync(dir, user.uid, user.gid);
      return [name, dir];
    }),
  ) as Record<"home" | "tmp" | "door", string>;
  const cgroup = { name: `bench-${process.pid}`, limits: { maxProcesses: 512 } };
  const limits = { maxProcesses: 4096, maxOpenFiles: 4096, maxFileBytes: 1024 ** 3 };
  const sandbox = { ...plainSandbox(tree, user), tools, cgroup, limits };
  // The same as for tasks: HOME, TMPDIR, and the door with its token.
  const own = {
    env: { ...env, HOME: dirs.home },
    writable: [dirs.home],
    tmp: dirs.tmp,
    readable: [[dirs.door, dirs.door]] as const,
  };
  const mark = tree;
  const holder: Holder = await startHolder({ cwd: "/", mark, hasNetwork: true, record: async () => {} });
  try {
    const entry = { enter: enterHolder(holder), hasNetwork: true };
    const inside = async () => {
      const launched = launch(sandbox, { command: ["true"], tree, entry, ...own });
      const { exitCode, stderr } = await runProgram(launched.argv, launched);
      if (exitCode !== 0) throw new Error(stderr);
    };
    const times = await inTurns(
      { plain: () => runProgram(["true"], { env }), inside },
      { rounds: ROUNDS, perRound: 2 },
    );
    const more = times.inside - times.plain;
    const measured = `${times.inside.toFixed(1)} ms - ${times.plain.toFixed(1)} ms`;
    return [atMost("a command in the sandbox, beyond a plain spawn, in ms", measured, more, LIMIT_MS, "ms")];
  } finally {
    await endHolder(holder, mark);
    await findCgroup(cgroup.name)?.end();
  }
}
