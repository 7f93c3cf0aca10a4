/**
 * Owns patterns of paths inside a repo, as `paths` and `protect` of holdfast.yaml use them: `*` and `?` stand
 * for characters within a name, `**` for any directories. A pattern without a slash is a name at any depth. A
 * pattern that matches a directory covers everything below it. The time of a match is bounded, whatever the
 * pattern is.
 */

/** Whether any of the patterns covers the path. */
export function isCovered(path: string, patterns: readonly string[]): boolean {
  const names = path.split("/");
  return patterns.some((pattern) => covers(partsOf(pattern), names));
}

function partsOf(pattern: string): readonly string[] {
  const parts = pattern.split("/").filter((part) => part !== "");
  return pattern.replace(/\/+$/, "").includes("/") ? parts : ["**", ...parts];
}

function covers(parts: readonly string[], names: readonly string[]): boolean {
  // How many parts of the pattern are matched so far. It is a set, so that two `**` cost no more than one.
  let reached = new Set([0]);
  for (let at = 0; at <= names.length; at += 1) {
    reached = withDirectories(parts, reached);
    // The pattern matches a directory above the path, or the path itself.
    if (at > 0 && reached.has(parts.length)) return true;
    const name = names[at];
    if (name === undefined) return false;
    const next = new Set<number>();
    for (const part of reached) {
      // At the end of the pattern it covers everything that follows.
      if (parts[part] === "**") next.add(part === parts.length - 1 ? parts.length : part);
      else if (part < parts.length && isMatch(parts[part] ?? "", name)) next.add(part + 1);
    }
    reached = next;
  }
  return false;
}

/** `**` may stand for no directory at all. At the end of a pattern it stands for at least one part. */
function withDirectories(parts: readonly string[], reached: ReadonlySet<number>): Set<number> {
  const all = new Set(reached);
  for (const part of all) if (parts[part] === "**" && part + 1 < parts.length) all.add(part + 1);
  return all;
}

/** The last star takes as much as it must, so the work is at most the product of both lengths. */
function isMatch(pattern: string, name: string): boolean {
  if (pattern === "**") return true;
  let at = 0;
  let from = 0;
  let star = -1;
  let starred = 0;
  while (from < name.length) {
    const sign = pattern[at];
    if (sign === "*") {
      star = at;
      starred = from;
      at += 1;
    } else if (sign !== undefined && (sign === "?" || sign === name[from])) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      starred += 1;
      from = starred;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
