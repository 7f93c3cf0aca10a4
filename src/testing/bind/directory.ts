/**
 * Owns how an agent's directory is found in what it tells the model: each agent words it in its own way.
 */
import type { Asked } from "../api/api.ts";

const SAYINGS: readonly RegExp[] = [
  /<cwd>\s*([^<]+?)\s*<\/cwd>/,
  /working directory: *(\/[^\n]*)/i,
  /\*\*Workspace Directories:\*\*\n *- *(\/[^\n]*)/,
];

export function directoryIn({ system, items }: Asked): string | undefined {
  const texts = [system, ...items.flatMap((item) => (item.kind === "user" ? [item.text] : []))];
  for (const text of texts)
    for (const saying of SAYINGS) {
      const found = saying.exec(text)?.[1];
      if (found) return found.trim();
    }
  return undefined;
}
