/**
 * Owns the word for "the files of a capsule, while they can be reached".
 */
export interface View {
  /** The path for our own process. */
  readonly root: string;
  /** The path for programs, which have to be started with `enter` before their name. */
  readonly workTree: string;
  readonly enter: readonly string[];
  /** Whether it leads into a network of the capsule's own. */
  readonly hasNetwork: boolean;
  /** Words that lead into that network alone, with the machine's files: for a program of ours. */
  readonly network: readonly string[];
}

/** Of a plain directory, which everybody reaches alike. */
export function plainView(path: string): View {
  return { root: path, workTree: path, enter: [], hasNetwork: false, network: [] };
}
