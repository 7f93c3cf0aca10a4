/**
 * Owns the hand-off: a person gets the task's files in an ordinary directory, with a gitdir that no agent has
 * touched, and the changes that they make come back as a turn of theirs.
 */
import { existsSync, lstatSync } from "node:fs";
import { appendFile, readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  applySnapshot,
  listCommit,
  makeExactTree,
  mirrorFiles,
  openStore,
  removeTree,
  syncFileSystem,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { budgetReached, reachedLimits } from "../../session/index.ts";
import { errorCode, tellStep } from "../../util/index.ts";
import { readSnapshot, takeCheckpoint, workAgain } from "../files/checkpoint.ts";
import { finishRewind } from "../files/rewind.ts";
import { commitBelow } from "../files/starting-point.ts";
import { restore } from "../files/teardown.ts";
import { branchOf, messageOfPerson, publishOrSay, type Unpublished } from "../results/publishing.ts";
import { whyToReview } from "../results/review.ts";
import { currentLimits, openCapsule, type Room, requireCapsule } from "../room/room.ts";
import { assertOutside, defaultDirectory } from "./directory.ts";
import { NOTE_FILE, noteOf } from "./note.ts";

export interface HandOff {
  readonly directory: string;
  readonly to: string;
  readonly snapshot: string;
}

export interface HandOffOptions {
  readonly to: string;
  readonly directory?: string;
}

export async function handOff(room: Room, options: HandOffOptions): Promise<HandOff> {
  const { session, repo, io } = room;
  const directory = resolve(options.directory ?? defaultDirectory(repo, session.state, process.cwd()));
  assertOutside(repo, directory);
  const there = await readdir(directory).catch((error: unknown) =>
    errorCode(error) === "ENOENT" ? [] : ["?"],
  );
  if (there.length > 0)
    throw new HoldfastError("file_exists", `${directory} already exists and is not an empty directory`, {
      path: directory,
    });
  await finishRewind(room);
  const capsule = await openCapsule(room);
  const checkpoint = capsule && (await takeCheckpoint(room, capsule, await currentLimits(room)));
  await capsule?.detach();
  const { task } = session.state;
  if (!task?.snapshot)
    throw new HoldfastError(
      "no_snapshot",
      `session ${session.id} has no checkpoint, so there are no files to hand off`,
      {
        session: session.id,
      },
    );
  const store = await openStore(repo, io.disk);
  const work = checkpoint?.work ?? (await workAgain({ repo, id: session.id }, store, task.snapshot));
  const snapshot = await readSnapshot(store, task.snapshot);
  const { onProgress } = io;
  const branch = branchOf(session.state);
  await makeExactTree({ directory, repo, store, snapshot, work, branch, onProgress });
  try {
    await applySnapshot(directory, store, besidesTree(snapshot.manifest), snapshot.contents, { onProgress });
    if (!isThere(join(directory, NOTE_FILE))) {
      await writeFile(join(directory, NOTE_FILE), noteOf(session.state, directory), { flag: "wx" });
      await appendFile(join(directory, ".git", "info", "exclude"), `/${NOTE_FILE}\n`);
    }
    tellStep(onProgress, "syncing the files to disk");
    await syncFileSystem(directory);
    await session.append("session_handed_off", { to: options.to, directory });
  } catch (error) {
    await removeTree(directory);
    throw error;
  }
  return { directory, to: options.to, snapshot: task.snapshot.commit };
}

/** A dangling link counts too. */
const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

type Manifest = Awaited<ReturnType<typeof readSnapshot>>["manifest"];

/** A person gets what the agent had, with ignored files and with directories as they were. */
function besidesTree(manifest: Manifest): Manifest {
  const isGiven = ({ role, kind }: Manifest["entries"][number]) =>
    role === "ignored" || (role === "work" && kind === "dir");
  return { ...manifest, entries: manifest.entries.filter(isGiven), gone: [] };
}

export interface Returned {
  readonly turn: number;
  readonly snapshot: string;
  readonly tree: string;
  readonly isChanged: boolean;
  /** The branch that has the person's changes as a commit of their own. */
  readonly branch: string | null;
  /** Why they are on no branch. */
  readonly unpublished: Unpublished | null;
}

export interface TakeBackOptions {
  /** Where the files are now, if they were moved. */
  readonly directory?: string;
  /** Ignore the person's files: the session goes on with the files that it had. */
  readonly unchanged?: boolean;
}

/** The person keeps their directory; the capsule gets their changes. */
export async function takeBack(room: Room, options: TakeBackOptions = {}): Promise<Returned> {
  const { session } = room;
  const { handoff, task } = session.state;
  if (!handoff || !task)
    throw new HoldfastError(
      "illegal_transition",
      `session ${session.id} is not handed off, so there is nothing to take back`,
      {
        status: session.state.status,
      },
    );
  if (options.unchanged) {
    await session.append("session_returned", { by: handoff.to });
    const { commit = "", tree = "" } = task.snapshot ?? {};
    const { turns } = session.state;
    return { turn: turns, snapshot: commit, tree, isChanged: false, branch: null, unpublished: null };
  }
  const directory = resolve(options.directory ?? handoff.directory ?? "");
  // Any other directory would empty the capsule.
  if (!existsSync(join(directory, ".git", "HEAD"))) {
    const what = existsSync(directory) ? "not the directory of the hand-off" : "not there any more";
    const command = `holdfast handoff ${session.state.name ?? session.id} --return`;
    throw new HoldfastError(
      "file_unwritable",
      `${directory} is ${what}: ${command} --to DIR takes the files from elsewhere, ${command} --unchanged continues without them`,
      { path: directory },
    );
  }
  const limitsReached = reachedLimits(session.state);
  if (limitsReached.length > 0) throw budgetReached(limitsReached);
  if (!(await openCapsule(room))) await restore(room);
  const capsule = await requireCapsule(room);
  await capsule.unsettle();
  const { root } = await capsule.attach();
  const hasOwnNote = isThere(join(root, NOTE_FILE));
  mirrorFiles(directory, root, await givenPaths(room), {
    isSkipped: (path) => !hasOwnNote && path === NOTE_FILE,
    onProgress: room.io.onProgress,
  });
  await capsule.give();
  await session.append("session_returned", { by: handoff.to });
  const turn = await session.beginTurn(`The files came back from ${handoff.to}.`, { by: handoff.to });
  await turn.end();
  const { snapshot, work } = await takeCheckpoint(room, capsule, await currentLimits(room));
  await capsule.settle(snapshot);
  const isChanged = work.tree !== task.snapshot?.tree;
  const base = await commitBelow(room.repo, task);
  // The commit would have the agent's work too, which may wait for a review.
  const held = isChanged ? await whyToReview(room, await capsule.store(), { base, work }) : undefined;
  const { branch, unpublished } =
    isChanged && !held
      ? await publishOrSay(room, {
          tree: work.tree,
          base,
          message: messageOfPerson(session, handoff.to, task.branch === null),
        })
      : { branch: null, unpublished: held ?? null };
  return { turn: turn.number, snapshot: snapshot.commit, tree: work.tree, isChanged, branch, unpublished };
}

/**
 * The paths that the person got: the base's files with the changes of the snapshot. Files aside stayed with
 * the agent.
 */
async function givenPaths({ repo, io, session }: Room): Promise<Set<string>> {
  const { task } = session.state;
  const committed = (await listCommit(repo, task?.base ?? null)).map(({ path }) => path);
  if (!task?.snapshot) return new Set(committed);
  const { manifest } = await readSnapshot(await openStore(repo, io.disk), task.snapshot);
  const given = new Set(committed);
  for (const { path, role } of manifest.entries)
    if (role === "work" || role === "ignored") given.add(path);
    else given.delete(path);
  return given;
}
