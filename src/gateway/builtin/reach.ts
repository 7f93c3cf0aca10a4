/**
 * Owns how a file of a capsule is reached by a path from an agent, while the agent's processes may change
 * everything on the way.
 *
 * reach-1 The way never leads out of the capsule. Each directory is opened from its parent's descriptor
 *    without following a link. A link is read and resolved here, one name after another, and refused if it
 *    leads elsewhere.
 */
import { chownSync, mkdirSync, type Stats } from "node:fs";
import { type BytePath, fromText, hasGitLike, OpenDir, toText } from "../../capsule/index.ts";
import type { TaskUser } from "../../process/index.ts";
import { printable } from "../../util/index.ts";
import type { Grounds } from "./place.ts";
import { CantDo, explained } from "./tool.ts";

/** The number of links that the kernel follows. */
const MAX_LINKS = 40;
const MAX_NAMES = 256;

/** An entry, with the open directory that contains it; the top is `.` in itself. */
export interface Found {
  readonly dir: OpenDir;
  readonly name: BytePath;
  /** Undefined: it does not exist yet. Never those of a link. */
  readonly stats: Stats | undefined;
  /** From the top, without links. */
  readonly path: BytePath;
  /** For messages. */
  readonly shown: string;
}

export interface ReachOptions {
  /** Make missing directories, and give them to this user. */
  readonly make?: { readonly user: TaskUser | undefined } | undefined;
}

/** What `use` gets is valid until it returns. */
export function reach<T>(
  grounds: Grounds,
  path: string,
  use: (found: Found) => T,
  options: ReachOptions = {},
): T {
  const shown = printable(path);
  if (path.includes("\0")) throw new CantDo(`${shown}: it is not a valid name of a file`);
  return explained(shown, () => {
    using way = new Way(grounds, shown, options);
    return use(way.to(path));
  });
}

class Way implements Disposable {
  readonly #grounds: Grounds;
  readonly #shown: string;
  readonly #make: ReachOptions["make"];
  readonly #dirs: OpenDir[];
  readonly #names: BytePath[] = [];
  #links = 0;

  constructor(grounds: Grounds, shown: string, { make }: ReachOptions) {
    this.#grounds = grounds;
    this.#shown = shown;
    this.#make = make;
    this.#dirs = [OpenDir.root(grounds.root)];
  }

  to(path: string): Found {
    const isAbsolute = path.startsWith("/");
    const asked = fromText(path);
    let todo = isAbsolute
      ? this.#belowTop(asked)
      : [...namesOf(fromText(this.#grounds.start)), ...namesOf(asked)];
    for (;;) {
      if (todo.length + this.#names.length > MAX_NAMES)
        throw new CantDo(`${this.#shown}: the path is too deep`);
      const [name, ...rest] = todo;
      if (name === undefined) return this.#found(".", this.#here.stat("."));
      todo = rest;
      if (name === "..") {
        this.#up();
        continue;
      }
      const stats = this.#here.stat(name);
      if (stats?.isSymbolicLink()) todo = [...this.#throughLink(name), ...rest];
      else if (rest.length === 0) return this.#found(name, stats);
      else this.#down(name, stats);
    }
  }

  get #here(): OpenDir {
    return this.#dirs.at(-1) as OpenDir;
  }

  #found(name: BytePath, stats: Stats | undefined): Found {
    const names = name === "." ? this.#names : [...this.#names, name];
    return { dir: this.#here, name, stats, path: names.join("/"), shown: this.#shown };
  }

  #up(): void {
    if (this.#names.length === 0) throw new CantDo(`${this.#shown}: it leads out of the task's files`);
    this.#names.pop();
    this.#dirs.pop()?.[Symbol.dispose]();
  }

  #down(name: BytePath, stats: Stats | undefined): void {
    if (!stats && !this.#make) throw new CantDo(`${this.#shown}: there is no such file`);
    if (stats && !stats.isDirectory()) throw new CantDo(`${this.#shown}: ${toText(name)} is not a directory`);
    if (!stats) this.#makeDirectory(name);
    const child = this.#here.child(name);
    if (!child) throw new CantDo(`${this.#shown}: ${toText(name)} was replaced meanwhile; try again`);
    this.#dirs.push(child);
    this.#names.push(name);
    const user = this.#make?.user;
    // The directory that is open: another one may have this name by now.
    if (!stats && user) chownSync(child.at("."), user.uid, user.gid);
  }

  #makeDirectory(name: BytePath): void {
    if (hasGitLike([...this.#names, name].join("/")))
      throw new CantDo(`${this.#shown}: only git may write its own files`, "refused");
    mkdirSync(this.#here.at(name), { mode: 0o755 });
  }

  /** The names that replace the link. */
  #throughLink(name: BytePath): BytePath[] {
    this.#links += 1;
    if (this.#links > MAX_LINKS) throw new CantDo(`${this.#shown}: its links lead in a circle`);
    const target = this.#here.link(name).toString("latin1");
    return target.startsWith("/") ? this.#belowTop(target) : namesOf(target);
  }

  /** An absolute path is one inside the sandbox. It is resolved again from the top. */
  #belowTop(path: BytePath): BytePath[] {
    const top = namesOf(fromText(this.#grounds.top));
    const names = namesOf(path);
    if (!top.every((name, at) => names[at] === name))
      throw new CantDo(`${this.#shown}: it leads out of the task's files, to ${printable(toText(path))}`);
    while (this.#names.length > 0) this.#up();
    return names.slice(top.length);
  }

  [Symbol.dispose](): void {
    for (const dir of this.#dirs.reverse()) dir[Symbol.dispose]();
  }
}

const namesOf = (path: BytePath) => path.split("/").filter((name) => name !== "" && name !== ".");
