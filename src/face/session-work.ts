/**
 * Owns the part of a session's handle that is about its work and its upkeep: published, merged, put away, handed over,
 * checked, exported.
 */
import { whenSessionLeft } from "../dispatch/index.ts";
import { assertKnown, present } from "../util/index.ts";
import { branchForm, mergeForm, parseOptions, rebaseForm, rewindForm, teardownForm } from "./forms.ts";
import { reachOf } from "./reach.ts";
import type { Audit, Branched, Exported, HandOff, Merged, Rebased, Returned, TornDown } from "./results.ts";
import { branchedOf, handOffOf, mergedOf, rebasedOf, returnedOf, tornDownOf } from "./shape.ts";

/** What can be done with a session's work, whether a process has it or not. */
export class SessionWork {
  /** The id of the session. */
  readonly id: string;

  /** @internal */
  constructor(id: string) {
    this.id = id;
  }

  /** Publishes its work to the session's branch, even if its task failed. Work that was held for review needs `isReviewed`. */
  async branch(options: { readonly isReviewed?: boolean } = {}): Promise<Branched> {
    const { isReviewed } = parseOptions("branch", branchForm, options);
    await this.#whenLeft();
    return branchedOf(
      await this.#holdfast.branchSession(this.id, { ...this.#scope, ...present({ isReviewed }) }),
    );
  }

  /** Merges its work into a branch of the user: replays its commits there, checks the result, and moves the branch forward. */
  async merge(
    options: {
      /** The branch. Default: the one that the checkout is on. */
      readonly into?: string;
      /** As one commit. */
      readonly isSquashed?: boolean;
      /** With the agent's own commits. */
      readonly keepCommits?: boolean;
      /** With `keepCommits`: a person has looked at these commits. */
      readonly isReviewed?: boolean;
      /** Without checks. That is on record. */
      readonly isUnverified?: boolean;
    } = {},
  ): Promise<Merged> {
    const { keepCommits, ...rest } = parseOptions("merge", mergeForm, options);
    const merging = { ...this.#scope, ...present({ ...rest, keepsCommits: keepCommits }) };
    await this.#whenLeft();
    return mergedOf(await this.#holdfast.mergeSession(this.id, merging));
  }

  /** Rebases its unmerged work onto the tip of a branch of the user. */
  async rebase(options: { readonly onto?: string } = {}): Promise<Rebased> {
    const { onto } = parseOptions("rebase", rebaseForm, options);
    await this.#whenLeft();
    return rebasedOf(await this.#holdfast.rebaseSession(this.id, { ...this.#scope, onto }));
  }

  /** Takes files, HOME and conversation back to the end of a turn, or forward again. */
  async rewind(toTurn: number): Promise<void> {
    parseOptions("rewind", rewindForm, { toTurn });
    await this.#dispatcher.withoutProcess(this.id, this.#scope, () =>
      this.#holdfast.rewindSession(this.id, toTurn, this.#scope),
    );
  }

  /** Removes its capsule after a snapshot. `dropIgnored`: ignored files beyond the limit are deleted. */
  async teardown(options: { readonly dropIgnored?: boolean } = {}): Promise<TornDown> {
    const { dropIgnored } = parseOptions("teardown", teardownForm, options);
    const tornDown = await this.#dispatcher.withoutProcess(this.id, this.#scope, () =>
      this.#holdfast.tearDownSession(this.id, { ...this.#scope, ...present({ dropIgnored }) }),
    );
    return tornDownOf(tornDown);
  }

  /** Undoes a teardown. */
  async restore(): Promise<void> {
    await this.#whenLeft();
    await this.#holdfast.restoreSession(this.id, this.#scope);
  }

  /** Gives a person the files, in a directory with a git repository of its own. */
  async handOff(options: { readonly to: string; readonly directory?: string }): Promise<HandOff> {
    assertKnown("handOff", options, ["to", "directory"]);
    const handOff = await this.#dispatcher.withoutProcess(this.id, this.#scope, () =>
      this.#holdfast.handOffSession(this.id, { ...this.#scope, ...options }),
    );
    return handOffOf(handOff);
  }

  /** Takes the files back. What the person changed becomes a turn. */
  async takeBack(
    options: { readonly directory?: string; readonly unchanged?: boolean } = {},
  ): Promise<Returned> {
    assertKnown("takeBack", options, ["directory", "unchanged"]);
    return returnedOf(await this.#holdfast.takeBackSession(this.id, { ...this.#scope, ...options }));
  }

  /** Archives the session. A running task is ended first. */
  async archive(): Promise<void> {
    await this.#dispatcher.archive(this.id, this.#scope);
  }

  /** Removes it for good. Refused while it has work that exists only in this session, unless `force` is set. */
  async remove(options: { readonly force?: boolean; readonly branches?: boolean } = {}): Promise<void> {
    assertKnown("remove", options, ["force", "branches"]);
    await this.#dispatcher.remove(this.id, { ...this.#scope, ...options });
  }

  /** Checks every byte of its journal, blobs and artifacts; with `deep`, of its snapshots too. */
  async audit(options: { readonly deep?: boolean } = {}): Promise<Audit> {
    assertKnown("audit", options, ["deep"]);
    const audit = await this.#holdfast.auditSession(this.id, { ...this.#scope, ...options });
    const { artifacts, snapshots, findings } = audit;
    const places = findings.map(({ file, offset, reason }) => ({ file, offset, reason }));
    return { isSound: findings.length === 0, artifacts, snapshots, findings: places };
  }

  /** Copies the good records of a damaged session into a new one, and returns its id; null if only a cache was damaged. */
  async repair(): Promise<string | null> {
    return (await this.#holdfast.repairSession(this.id, this.#scope)).session;
  }

  /** Writes it to a file that another home can import. Files with a secret are left out and named, unless `withHome` is set. */
  async export(to: string, options: { readonly withHome?: boolean } = {}): Promise<Exported> {
    assertKnown("export", options, ["withHome"]);
    const { leftOut } = await this.#holdfast.exportSession(this.id, to, { ...this.#scope, ...options });
    return { leftOut: leftOut.map(({ path, rules }) => ({ path, rules })) };
  }

  /** The disk space that it uses, in bytes. Snapshots are not counted, because they share bytes with others. */
  async diskBytes(): Promise<number> {
    return (await this.#holdfast.diskUse(this.id, this.#scope)).total;
  }

  /** Replaces the session's token. The old token stops working at once. */
  rotateToken(): Promise<void> {
    return this.#dispatcher.rotateToken(this.id, this.#scope);
  }

  /** Revokes its token: its processes can then reach neither their tools nor a model. */
  revokeToken(): Promise<void> {
    return this.#dispatcher.revokeToken(this.id, this.#scope);
  }

  /** Right after its last task, its process is about to let go of it. */
  #whenLeft(): Promise<void> {
    return whenSessionLeft(this.#dispatcher.home, this.id, this.#scope.user);
  }

  get #dispatcher() {
    return reachOf(this).dispatcher;
  }

  get #scope() {
    return reachOf(this).scope;
  }

  get #holdfast() {
    return this.#dispatcher.holdfast;
  }
}
