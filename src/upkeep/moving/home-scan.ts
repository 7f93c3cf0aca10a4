/**
 * Owns the search for secrets in snapshots of HOME, and the making of snapshots without the files that
 * contain one. The rules are those of the redaction of records. They can't see into compressed or encrypted
 * files.
 */
import {
  type BytePath,
  contentsOf,
  type NamedSnapshot,
  parentOf,
  readContents,
  readNamedManifest,
  reduceSnapshot,
  type Store,
  toText,
} from "../../capsule/index.ts";
import type { Redactor } from "../../journal/index.ts";
import { withoutSecrets } from "../../redaction/index.ts";
import { isCredential, type Withheld } from "../../task/index.ts";

/** A file of HOME that is not in an export. */
export interface LeftOut {
  readonly path: string;
  /** The rules that matched; never the text that they found. */
  readonly rules: readonly string[];
}

/** A long file is searched in pieces. Two neighbouring pieces share more bytes than a secret has. */
const PIECE_BYTES = 1024 * 1024;
const SHARED_BYTES = 64 * 1024;
/** The file is a credential by its name. It is in a snapshot that was made before that name was known. */
const CREDENTIAL = "credential";

export class HomeScan {
  readonly #redact: Redactor;
  readonly #store: Store;
  readonly #session: string;
  /** The rules that matched, by the id of a content: most files are in many snapshots. */
  readonly #inContent: Map<string, readonly string[]>;
  readonly #inPath = new Map<BytePath, readonly string[]>();
  readonly #leftOut = new Map<string, LeftOut>();

  /** `withheld`: contents in which a secret was found that is not known any more. */
  constructor(redact: Redactor, store: Store, session: string, withheld: Withheld) {
    this.#redact = redact;
    this.#inContent = new Map(withheld);
    this.#store = store;
    this.#session = session;
  }

  get leftOut(): readonly LeftOut[] {
    return [...this.#leftOut.values()];
  }

  /** Returns the snapshot itself if there is nothing to leave out. */
  async withoutSecrets(snapshot: NamedSnapshot): Promise<NamedSnapshot> {
    const store = this.#store;
    const manifest = await readNamedManifest(store, snapshot);
    const { contents } = await contentsOf(store, snapshot.commit, manifest);
    await this.#searchContents([...contents.values()]);
    const named = [...manifest.entries, ...manifest.omitted];
    await this.#searchPaths(named.map(({ path }) => path));
    const gone = new Set<BytePath>();
    for (const { path } of named) {
      const rules = new Set([
        ...(this.#inPath.get(path) ?? []),
        ...(this.#inContent.get(contents.get(path) ?? "") ?? []),
        ...(isCredential(path) ? [CREDENTIAL] : []),
      ]);
      if (rules.size > 0) await this.#note(path, [...rules].sort());
      // Parents come first in the list.
      if (rules.size > 0 || gone.has(parentOf(path))) gone.add(path);
    }
    if (gone.size === 0) return snapshot;
    return reduceSnapshot({
      store,
      manifest,
      contents,
      session: this.#session,
      isLeftOut: (path) => gone.has(path),
      isNameable: (path) => (this.#inPath.get(path) ?? []).length === 0,
    });
  }

  async #note(path: BytePath, rules: readonly string[]): Promise<void> {
    const shown = await withoutSecrets(this.#redact, toText(path));
    const known = this.#leftOut.get(shown)?.rules ?? [];
    this.#leftOut.set(shown, { path: shown, rules: [...new Set([...known, ...rules])].sort() });
  }

  async #searchContents(ids: readonly string[]): Promise<void> {
    const unknown = [...new Set(ids)].filter((id) => !this.#inContent.has(id));
    const fired = new Set<string>();
    let piece: Buffer = Buffer.alloc(0);
    await readContents(this.#store, unknown, async (id, bytes, isLast) => {
      piece = Buffer.concat([piece, bytes]);
      if (!isLast && piece.length < PIECE_BYTES) return;
      for (const rule of await this.#rulesIn(piece)) fired.add(rule);
      piece = isLast ? Buffer.alloc(0) : piece.subarray(-SHARED_BYTES);
      if (!isLast) return;
      this.#inContent.set(id, [...fired]);
      fired.clear();
    });
  }

  /** Searches all of them together first, because hardly any contains a secret. */
  async #searchPaths(paths: readonly BytePath[]): Promise<void> {
    const unknown = paths.filter((path) => !this.#inPath.has(path));
    const isClean = (await this.#rulesIn(Buffer.from(unknown.map(toText).join("\n")))).length === 0;
    for (const path of unknown)
      this.#inPath.set(path, isClean ? [] : await this.#rulesIn(Buffer.from(toText(path))));
  }

  async #rulesIn(bytes: Buffer): Promise<readonly string[]> {
    const rules = await this.#rulesInText(bytes.toString("utf8"));
    // Also search text with two bytes a letter, and text in a database.
    const isPlain = !bytes.includes(0);
    return isPlain ? rules : [...rules, ...(await this.#rulesInText(withoutZeros(bytes)))];
  }

  async #rulesInText(text: string): Promise<readonly string[]> {
    const [redaction] = await this.#redact([{ text }]);
    return redaction?.rules ?? [];
  }
}

const withoutZeros = (bytes: Buffer) => bytes.toString("latin1").replaceAll("\0", "");
