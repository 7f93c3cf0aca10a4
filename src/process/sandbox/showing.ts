/**
 * Owns which paths may be shown to a task, and collects those that are, with the links on the way to them.
 *
 * view-2 No Holdfast home, nor any part of one, is ever shown, even if the user names it. Neither is the
 *    user's home as a whole, nor the root, nor a socket. Places of credentials are shown only if the user
 *    names them.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { homeManifestPath, isWithin, sessionsDir } from "../../util/index.ts";
import { isCredentialFile, PRIVATE_PLACES } from "./credentials.ts";
import { follow, type Link, realOr, statOr } from "./paths.ts";
import { type RootDirs, rootDirs } from "./root-dirs.ts";

/** File systems of the kernel. */
const NO_PLACES = ["/proc", "/sys", "/dev"];
/** A directory that contains one of these would replace what the root has there. */
const OWN_DIRS = [...NO_PLACES, "/etc", "/tmp", "/run", "/var/tmp", "/usr"];
/** Windows' own programs, which WSL puts on PATH. They run outside of Linux, and looking there takes long. */
const OTHER_SIDE = /^\/mnt\/[a-z](\/|$)/;
/** Each one makes every command slower. */
const MAX_SHOWN = 64;

export interface Rules {
  readonly userHome: string;
  /** The Holdfast home and the place of its sockets. */
  readonly apart: readonly string[];
  /** Files in it belong to the capsule, and are shown with it. */
  readonly checkout?: string | undefined;
}

export class Showing {
  readonly #home: string;
  readonly #apart: readonly string[];
  readonly #checkout: string | undefined;
  readonly #root = rootDirs();
  /** The real paths, and whether the user named each. */
  readonly #paths = new Map<string, boolean>();
  readonly #links = new Map<string, Link>();

  constructor({ userHome, apart, checkout }: Rules) {
    const home = realOr(userHome) ?? userHome;
    // A user without a home, for example in a container.
    this.#home = home === "/" ? "/nonexistent" : home;
    this.#apart = apart.flatMap((path) => [path, realOr(path) ?? path]);
    this.#checkout = checkout;
  }

  /** The real home. */
  get home(): string {
    return this.#home;
  }

  get root(): RootDirs {
    return this.#root;
  }

  get links(): readonly Link[] {
    return [...this.#links.values()];
  }

  get paths(): readonly string[] {
    return [...this.#paths.keys()];
  }

  isNamed(path: string): boolean {
    return this.#paths.get(path) ?? false;
  }

  /** Whether the path exists inside, as far as is known so far. */
  isShown(real: string): boolean {
    return this.isInRoot(real) || this.#isInCheckout(real) || this.paths.some((dir) => isWithin(dir, real));
  }

  #isInCheckout(real: string): boolean {
    return this.#checkout !== undefined && isWithin(this.#checkout, real);
  }

  isInRoot(real: string): boolean {
    // The user of a service has a home there, which is as private as any other.
    return [...this.#root.dirs, "/etc"].some((dir) => isWithin(dir, real)) && !isWithin(this.#home, real);
  }

  /**
   * Shows the real path, or, with `instead`, another directory. False: it does not exist, or may not be
   * shown.
   */
  show(path: string, { isNamed = false, instead = (real: string) => real } = {}): boolean {
    const followed = follow(path);
    if (!followed) return false;
    const { real, links } = followed;
    // Links in the checkout come from the repo: their targets are not shown because of them.
    if ((isNamed || !this.isShown(real)) && links.some(([, link]) => this.#isInCheckout(link))) return false;
    // A named path may be a credential inside something that is shown, and would be covered there.
    const isSeen = isNamed ? this.#isInCheckout(real) : this.isShown(real);
    if (!isSeen) {
      const shown = [instead(real), real].find((one) => this.whyNot(one, isNamed) === undefined);
      if (shown === undefined || this.#paths.size >= MAX_SHOWN) return false;
      this.#paths.set(shown, isNamed || this.isNamed(shown));
    }
    for (const link of links) this.#links.set(link[1], link);
    return true;
  }

  /** Undefined for a real path that may be shown. */
  whyNot(real: string, isNamed: boolean): string | undefined {
    if (isWithin(real, this.#home)) return "it contains all of your home";
    if (this.#apart.some((dir) => isWithin(dir, real) || isWithin(real, dir)) || isInHome(real))
      return "it contains a Holdfast home";
    if (NO_PLACES.some((dir) => isWithin(dir, real)) || OWN_DIRS.some((dir) => isWithin(real, dir)))
      return "each sandbox has its own";
    const stats = statOr(real);
    if (!stats?.isDirectory() && !stats?.isFile()) return "it is neither a directory nor a file";
    if (isNamed) return undefined;
    if (stats.isFile() && isCredentialFile(real, basename(real))) return "it is a credential";
    if (OTHER_SIDE.test(real)) return "programs of Windows don't run in a sandbox";
    const isPrivate = PRIVATE_PLACES.some((place) => isWithin(join(this.#home, place), real));
    return isPrivate ? "it is a place of credentials" : undefined;
  }
}

function isInHome(real: string): boolean {
  for (let dir = real; dir !== dirname(dir); dir = dirname(dir))
    if (existsSync(homeManifestPath(dir)) && existsSync(sessionsDir(dir))) return true;
  return false;
}
