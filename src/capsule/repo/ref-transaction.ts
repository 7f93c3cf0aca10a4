/**
 * Owns moving one ref of the user's repo together with other work: while the work is done, the ref is locked
 * at its known value. A kill in between leaves the ref where it was.
 */
import { type Identity, runGit } from "../git/git.ts";

export interface RefMove {
  /** The gitdir whose HEAD log must record the move, if HEAD names the ref. */
  readonly gitDir: string;
  readonly ref: string;
  readonly from: string;
  readonly to: string;
  /** For the log of the ref. */
  readonly reason: string;
  readonly identity: Identity;
}

/**
 * Returns why the ref was not moved, for example because its value has changed, or because another process has
 * it locked. Undefined if it was moved.
 */
export async function moveRef(move: RefMove, work: () => Promise<void>): Promise<string | undefined> {
  const { gitDir, ref, from, to, reason, identity } = move;
  const prepared = Promise.withResolvers<boolean>();
  const word = Promise.withResolvers<"commit" | "abort">();
  async function* lines() {
    yield Buffer.from(`start\nupdate ${ref} ${to} ${from}\nprepare\n`);
    yield Buffer.from(`${await word.promise}\n`);
  }
  let said = "";
  const onOutput = (chunk: Buffer) => {
    said += chunk.toString("latin1");
    if (said.includes("prepare: ok")) prepared.resolve(true);
  };
  const args = ["update-ref", "-m", reason, "--stdin"];
  const running = runGit({ gitDir }, args, { input: lines(), onOutput, accept: [0, 128], identity });
  running.then(
    () => prepared.resolve(false),
    () => prepared.resolve(false),
  );
  try {
    if (await prepared.promise) await work();
    word.resolve("commit");
  } catch (error) {
    word.resolve("abort");
    await running.catch(() => {});
    throw error;
  }
  return running.then(
    ({ exitCode, stderr }) => (exitCode === 0 ? undefined : stderr.trim()),
    (error: Error) => error.message,
  );
}
