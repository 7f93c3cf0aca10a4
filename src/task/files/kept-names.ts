/**
 * Owns which files a journal names beside itself: artifacts, and snapshots of files and of HOME, with the
 * turns that need them. Pure: records in, names out.
 */
import type { JournalRecord, JsonObject } from "../../contract/index.ts";

interface Kept {
  /** The `seq` of the latest record that names it. */
  readonly seq: number;
  /** A record before a fork or an import named it, so it may have stayed where the session came from. */
  readonly mayBeElsewhere: boolean;
}

export interface KeptArtifact extends Kept {
  readonly task: number;
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface KeptSnapshot extends Kept {
  readonly commit: string;
  /** Empty when no record has it. */
  readonly manifest: string;
  readonly turns: readonly number[];
  readonly isHome: boolean;
}

/** The snapshots that a fork at a turn would begin with. */
export interface TurnFiles {
  readonly files: string;
  readonly home: string;
}

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export class KeptNames {
  readonly artifacts = new Map<string, KeptArtifact>();
  readonly snapshots = new Map<string, KeptSnapshot>();
  /** The last ones of each turn. */
  readonly byTurn = new Map<number, TurnFiles>();
  /** Whether an import brought the snapshots as a pack that is in no store. */
  isPackExpected = false;
  #turns = 0;
  #home = "";

  note({ type, data, seq }: JournalRecord): void {
    switch (type) {
      case "turn_started":
        this.#turns += 1;
        return;
      case "artifact_written":
        this.#noteArtifact(data, seq);
        return;
      case "task_started":
        // Usually the commit of an earlier checkpoint. If it is not, no record has its manifest.
        this.#noteSnapshot(data["snapshot"], "", this.#turns, seq, false);
        this.#noteHome(data, this.#turns, seq);
        return;
      case "snapshot_taken": {
        const turn = Number.isSafeInteger(data["turn"]) ? Number(data["turn"]) : this.#turns;
        this.#noteSnapshot(data["snapshot"], data["manifest"], turn, seq, false);
        this.#noteHome(data, turn, seq);
        this.byTurn.set(turn, { files: String(data["snapshot"]), home: this.#home });
        return;
      }
      case "session_forked":
        // The artifacts of the parent stay with the parent.
        this.#leaveArtifacts();
        this.isPackExpected = false;
        return;
      case "session_imported":
        // HOME and artifacts stayed where the session came from.
        this.#leaveArtifacts();
        for (const [commit, kept] of this.snapshots)
          if (kept.isHome) this.snapshots.set(commit, { ...kept, mayBeElsewhere: true });
        this.#home = "";
        this.isPackExpected = data["repo"] === undefined;
    }
  }

  /** Replaces HOME snapshots of an import by those that were imported in their place. */
  substitute(homes: ReadonlyMap<string, { readonly commit: string; readonly manifest: string }>): void {
    for (const [named, { commit, manifest }] of homes) {
      const kept = this.snapshots.get(named);
      if (!kept?.isHome) continue;
      this.snapshots.delete(named);
      this.snapshots.set(commit, { ...kept, commit, manifest, mayBeElsewhere: false });
    }
  }

  #noteArtifact({ task, name, sha256, bytes }: JsonObject, seq: number): void {
    // The journal may come from anywhere: only a valid file name in that directory is accepted.
    if (!Number.isSafeInteger(task) || typeof name !== "string" || !/^[^/\0]+$/.test(name)) return;
    if (name === "." || name === "..") return;
    this.artifacts.set(`${task}/${name}`, {
      task: Number(task),
      name,
      sha256: String(sha256),
      bytes: Number(bytes),
      seq,
      mayBeElsewhere: false,
    });
  }

  #noteHome({ home }: JsonObject, turn: number, seq: number): void {
    if (typeof home !== "object" || home === null || Array.isArray(home)) return;
    this.#home = typeof home["snapshot"] === "string" ? home["snapshot"] : "";
    this.#noteSnapshot(home["snapshot"], home["manifest"], turn, seq, true);
  }

  #noteSnapshot(commit: unknown, manifest: unknown, turn: number, seq: number, isHome: boolean): void {
    if (typeof commit !== "string" || !COMMIT.test(commit)) return;
    const before = this.snapshots.get(commit);
    this.snapshots.set(commit, {
      commit,
      manifest: (typeof manifest === "string" && manifest) || (before?.manifest ?? ""),
      turns: [...new Set([...(before?.turns ?? []), turn])],
      isHome,
      seq,
      mayBeElsewhere: false,
    });
  }

  #leaveArtifacts(): void {
    for (const [name, kept] of this.artifacts) this.artifacts.set(name, { ...kept, mayBeElsewhere: true });
  }
}
