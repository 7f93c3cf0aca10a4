/**
 * Owns commits in git's own form: reading them, and writing them with another parent and the same author and
 * message.
 */
import { BatchReader } from "../git/batch-reader.ts";
import { type GitPlace, git, gitLine, type Identity } from "../git/git.ts";
import { signature } from "./work.ts";

/** That are put on a branch, or judged, at once. */
export const MAX_COMMITS = 1000;

export interface ReadCommit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  /** With name, address and time, byte for byte. */
  readonly author: string;
  readonly committer: string;
  /** Byte for byte, in the encoding that it names or in UTF-8. */
  readonly message: string;
  readonly encoding: string | undefined;
  /** All that stands above the message, those of other programs included. */
  readonly headers: string;
}

export async function readCommits(place: GitPlace, ids: readonly string[]): Promise<ReadCommit[]> {
  if (ids.length === 0) return [];
  const texts = ids.map(() => "");
  const reader = new BatchReader((index, bytes) => {
    texts[index] += bytes.toString("latin1");
  });
  const input = [Buffer.from(ids.map((id) => `${id}\n`).join(""))];
  await git(place, ["cat-file", "--batch", "--buffer"], { input, onOutput: (chunk) => reader.push(chunk) });
  return texts.map((text, index) => parse(ids[index] ?? "", text));
}

function parse(id: string, text: string): ReadCommit {
  const end = text.indexOf("\n\n");
  const headers = (end < 0 ? text : text.slice(0, end)).split("\n");
  // A line that begins with a space belongs to the header before it, for example a signature, which is left
  // out.
  const valuesOf = (name: string) =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    id,
    tree: valuesOf("tree")[0] ?? "",
    parents: valuesOf("parent"),
    author: valuesOf("author")[0] ?? "",
    committer: valuesOf("committer")[0] ?? "",
    encoding: valuesOf("encoding")[0],
    message: end < 0 ? "" : text.slice(end + 2),
    headers: headers.join("\n"),
  };
}

export interface CommitToWrite extends Pick<ReadCommit, "tree" | "parents" | "author" | "message"> {
  readonly encoding?: string | undefined;
  readonly committer: Identity;
  readonly atMs: number;
}

/** Of a commit that no ref names and that nobody sees. */
export const NAMELESS = {
  author: "none <none> 0 +0000",
  committer: { name: "none", email: "none" },
  atMs: 0,
  message: "",
} as const;

export async function writeCommit(place: GitPlace, commit: CommitToWrite): Promise<string> {
  const { tree, parents, author, encoding, message, committer, atMs } = commit;
  const above = [`tree ${tree}`, ...parents.map((id) => `parent ${id}`), `author ${author}`];
  const input = [
    Buffer.from(`${above.join("\n")}\n`, "latin1"),
    Buffer.from(`committer ${signature(committer, atMs)}\n`),
    Buffer.from(`${encoding === undefined ? "" : `encoding ${encoding}\n`}\n${message}`, "latin1"),
  ];
  return gitLine(place, ["hash-object", "-t", "commit", "-w", "--stdin"], { input });
}
