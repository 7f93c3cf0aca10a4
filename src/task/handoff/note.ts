/**
 * Owns the note beside the files of a hand-off: what these files are, and how to give them back.
 */
import type { SessionState } from "../../session/index.ts";
import { printable } from "../../util/index.ts";

export const NOTE_FILE = "HANDOFF.md";

export function noteOf(state: SessionState, directory: string): string {
  const { id, name, title, task, turns } = state;
  const label = name ?? id;
  const pending = Object.entries(state.pending).map(([request, { kind }]) => `- ${kind} ${request}`);
  return `# Hand-off of ${label}

- Session: ${id}
- Goal: ${printable(title ?? "(none was given)")}
- State: task ${task?.number ?? 0}, ${turns} ${turns === 1 ? "turn" : "turns"}; ${task?.outcome ?? "not ended"}
- Base: ${task?.base ?? "an empty repo"}

## Pending

${pending.length > 0 ? pending.join("\n") : "Nothing."}

## How to go on

The files here are those of the last checkpoint; \`git status\` shows what differs from the base.
Change what you like, then give them back:

    holdfast handoff ${label} --return

This directory stays yours: ${printable(directory)}
`;
}
