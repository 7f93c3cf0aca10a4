/**
 * Owns the way from path to path below a root that an agent may be changing at this moment.
 */
import { mkdirSync, rmSync } from "node:fs";
import { OpenDir } from "./open-dir.ts";
import { type BytePath, nameOf, parentOf } from "./path.ts";

/**
 * Goes from path to path below a root and keeps the directories on the way open, since paths come in order.
 */
export class Cursor implements Disposable {
  readonly #top: OpenDir;
  readonly #way: { readonly name: BytePath; readonly dir: OpenDir }[] = [];

  constructor(root: string) {
    this.#top = OpenDir.root(root);
  }

  /**
   * Calls `use` with the open directory that holds the path. Returns undefined if there is none. With `make`,
   * missing directories are made, and anything else in their place is removed.
   */
  inParent<T>(
    path: BytePath,
    use: (dir: OpenDir, name: BytePath) => T,
    { make = false } = {},
  ): T | undefined {
    const names = parentOf(path).split("/").filter(Boolean);
    const shared = this.#way.findIndex(({ name }, index) => name !== names[index]);
    this.#backTo(shared < 0 ? Math.min(this.#way.length, names.length) : shared);
    for (const name of names.slice(this.#way.length)) {
      if (make) ensureDir(this.#here, name);
      const dir = this.#here.child(name);
      if (!dir) return undefined;
      this.#way.push({ name, dir });
    }
    return use(this.#here, nameOf(path));
  }

  get #here(): OpenDir {
    return this.#way.at(-1)?.dir ?? this.#top;
  }

  #backTo(length: number): void {
    while (this.#way.length > length) this.#way.pop()?.dir[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#backTo(0);
    this.#top[Symbol.dispose]();
  }
}

/** Makes a directory of this name, and removes anything else that has the name. */
export function ensureDir(dir: OpenDir, name: BytePath): void {
  const stats = dir.stat(name);
  if (stats?.isDirectory()) return;
  if (stats) rmSync(dir.at(name), { force: true });
  mkdirSync(dir.at(name), { mode: 0o755 });
}
