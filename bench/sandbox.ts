/**
 * Benches of the sandbox: what it adds to the start of a command, in a holder as a task's commands have it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  endHolder,
  enterHolder,
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
  const sandbox = { ...plainSandbox(tree, taskUser("/")), tools };
  const mark = tree;
  const holder: Holder = await startHolder({ cwd: "/", mark, hasNetwork: true, record: async () => {} });
  try {
    const entry = { enter: enterHolder(holder), hasNetwork: true };
    const inside = async () => {
      const launched = launch(sandbox, { command: ["true"], tree, entry, env });
      const { exitCode, stderr } = await runProgram(launched.argv, launched);
      if (exitCode !== 0) throw new Error(stderr);
    };
    const times = await inTurns(
      { plain: () => runProgram(["true"], { env }), inside },
      { rounds: ROUNDS, perRound: 2 },
    );
    const more = times.inside - times.plain;
    const measured = `${times.inside.toFixed(1)} ms - ${times.plain.toFixed(1)} ms`;
    return [atMost("a command in the sandbox, above a plain spawn, in ms", measured, more, LIMIT_MS, "ms")];
  } finally {
    await endHolder(holder, mark);
  }
}
