/**
 * Owns names of files as they are: bytes, which need not be text. A `BytePath` is a string with one character
 * per byte, so that it can be compared, joined and used as a key. It becomes text only in a manifest.
 */
import { HoldfastError, type Json } from "../../contract/index.ts";

export type BytePath = string;

export function toBytes(path: BytePath): Buffer {
  return Buffer.from(path, "latin1");
}

export function fromText(text: string): BytePath {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** For people and messages: readable if the bytes are text. */
export function toText(path: BytePath): string {
  return toBytes(path).toString("utf8");
}

export function joined(dir: BytePath, name: BytePath): BytePath {
  return dir === "" ? name : `${dir}/${name}`;
}

export function parentOf(path: BytePath): BytePath {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function nameOf(path: BytePath): BytePath {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** `a/b/c` → `a`, `a/b`. */
export function ancestorsOf(path: BytePath): BytePath[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Text stays text; other bytes become `{ "base64": … }`. */
export function encodePath(path: BytePath): Json {
  const bytes = toBytes(path);
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : { base64: bytes.toString("base64") };
}

/** Accepts only a path that stays below its root, wherever it came from. */
export function decodePath(value: unknown): BytePath {
  const path =
    typeof value === "string"
      ? fromText(value)
      : Buffer.from(String((value as { base64?: unknown } | null)?.base64 ?? ""), "base64").toString(
          "latin1",
        );
  const isPlain = path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  if (!isPlain || path.includes("\0"))
    throw new HoldfastError(
      "snapshot_invalid",
      `a snapshot names the path ${JSON.stringify(toText(path))}, which is not allowed in one`,
    );
  return path;
}

/** Code points that some file systems ignore when they compare names. */
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** A name that git, on this system or another, takes for its own directory. It can't be in a tree. */
export function isGitLike(name: BytePath): boolean {
  return toText(name)
    .replace(IGNORABLE, "")
    .toLowerCase()
    .split("\\")
    .some((part) => /^(\.git|git~\d)[ .]*(:[\s\S]*)?$/.test(part));
}

/** Whether a component of the path is such a name. Most paths have nothing that could be. */
export function hasGitLike(path: BytePath): boolean {
  return mayBeGitLike(path) && path.split("/").some(isGitLike);
}

const mayBeGitLike = (path: BytePath) => /git/i.test(path) || /[\x80-\xff]/.test(path);

const ESCAPE = "%git%";

/**
 * The place of a path's content in the tree of a snapshot: every name that has a meaning for git gets a
 * prefix.
 */
export function storedPath(path: BytePath): BytePath {
  if (!mayBeGitLike(path)) return path;
  return path
    .split("/")
    .map((name) => (needsEscape(name) ? ESCAPE + name : name))
    .join("/");
}

/** Matches more than `isGitLike`: also `.gitmodules` and the like, which git reads when it checks a tree. */
function needsEscape(name: BytePath): boolean {
  if (name.startsWith(ESCAPE)) return true;
  const parts = [name, ...toText(name).replace(IGNORABLE, "").split("\\")];
  return parts.some((part) => /^(\.git|git~|gi[0-9a-f]{4}~)/i.test(part));
}

/** In the form that git's import stream needs: in quotes, with everything unusual in octal. */
export function quoted(path: BytePath): string {
  const escaped = path.replace(
    /["\\]|[^ -~]/g,
    (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return `"${escaped}"`;
}
