/**
 * Owns the part of it that is about a session's files and its work: compared, torn down, published, merged, handed off.
 */
import { asFailure, type Home } from "../home/index.ts";
import {
  type Branched,
  type BranchOptions,
  branchSession,
  type ConflictedFiles,
  type ConflictsIn,
  conflictsOf,
  type Diff,
  type DiffOptions,
  diffSession,
  giveBackConflict,
  type HandOff,
  type HandOffOptions,
  handOffSession,
  type MergedWork,
  type MergeOptions,
  mergeSession,
  openFiles,
  type Rebased,
  type RebaseOptions,
  type Receipt,
  type Restored,
  type Returned,
  type Rewound,
  rebaseSession,
  restoreSession,
  rewindSession,
  type TakeBackOptions,
  type TeardownOptions,
  takeBackSession,
  tearDownSession,
} from "../task/index.ts";

export interface Scope {
  /** Default: the OS user's name. */
  readonly user?: string;
}

export class SessionFiles {
  protected readonly home: Home;

  constructor(home: Home) {
    this.home = home;
  }

  /** What its task changed against its base: so far, where its command runs. */
  diffSession(id: string, { user, ...options }: Scope & DiffOptions = {}): Promise<Diff> {
    return this.run((home) => diffSession(home, id, user, options));
  }

  /** Takes the capsule away; all of it is in a snapshot first. */
  tearDownSession(id: string, { user, ...options }: Scope & TeardownOptions = {}): Promise<Receipt> {
    return this.run((home) => tearDownSession(home, id, user, options));
  }

  /** Undoes a teardown. */
  restoreSession(id: string, { user }: Scope = {}): Promise<Restored> {
    return this.run((home) => restoreSession(home, id, user));
  }

  /** Publishes what the session has, also of a task that failed; with `commits`, what its agent committed itself. */
  branchSession(id: string, { user, ...options }: Scope & BranchOptions = {}): Promise<Branched> {
    return this.run((home) => branchSession(home, id, user, options));
  }

  /** Its work goes into a branch of the user's: replayed there, verified, and the branch moved forward. */
  mergeSession(id: string, { user, ...options }: Scope & MergeOptions = {}): Promise<MergedWork> {
    return this.run((home) => mergeSession(home, id, user, options));
  }

  /** What collides with a branch, as files for the session's next task: `base` and `snapshot` are what it begins with. */
  giveBackConflict(
    id: string,
    { user, ...options }: Scope & Pick<MergeOptions, "into"> = {},
  ): Promise<ConflictedFiles> {
    return this.run((home) => giveBackConflict(home, id, user, options));
  }

  /** One that is not merged comes to stand on a newer branch of the user's. */
  rebaseSession(id: string, { user, ...options }: Scope & RebaseOptions = {}): Promise<Rebased> {
    return this.run((home) => rebaseSession(home, id, user, options));
  }

  /** Which sessions will collide when they are merged, repo by repo. */
  findConflicts({ user }: Scope = {}): Promise<ConflictsIn[]> {
    return this.run((home) => conflictsOf(home, user));
  }

  /** Files, HOME and conversation go back to the end of a turn, or forward again. */
  rewindSession(id: string, toTurn: number, { user }: Scope = {}): Promise<Rewound> {
    return this.run((home) => rewindSession(home, id, user, toTurn));
  }

  /** Where its files can be worked on as they are; undefined where only a hand-over gives them a path. */
  openFiles(id: string, { user }: Scope = {}): Promise<string | undefined> {
    return this.run((home) => openFiles(home, id, user));
  }

  handOffSession(id: string, options: Scope & HandOffOptions): Promise<HandOff> {
    return this.run((home) => handOffSession(home, id, options.user, options));
  }

  takeBackSession(id: string, options: Scope & TakeBackOptions = {}): Promise<Returned> {
    return this.run((home) => takeBackSession(home, id, options.user, options));
  }

  protected async run<T>(work: (home: Home) => Promise<T>): Promise<T> {
    try {
      return await work(this.home);
    } catch (error) {
      throw asFailure(error, this.home.dir);
    }
  }
}
