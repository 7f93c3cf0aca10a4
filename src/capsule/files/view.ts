/**
 * Owns the form in which a capsule's files are reached, while they can be.
 */
export interface View {
  /** The path for our own process. */
  readonly root: string;
  /** The path for programs. They must be started with `enter` before their name. */
  readonly workTree: string;
  readonly enter: readonly string[];
  /** Words before a command that lead to the files alone, and into no network. */
  readonly enterFiles: readonly string[];
  /** Whether `enter` leads into a network of the capsule's own. */
  readonly hasNetwork: boolean;
  /** Words that lead into that network alone, with the machine's files: for a program of Holdfast. */
  readonly network: readonly string[];
}

/** The view of a plain directory, which every process reaches in the same way. */
export function plainView(path: string): View {
  return { root: path, workTree: path, enter: [], enterFiles: [], hasNetwork: false, network: [] };
}
