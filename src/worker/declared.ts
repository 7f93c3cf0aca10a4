/**
 * Owns the tools that a repo's file declares: a program, with words that can contain arguments.
 */
import type { ToolSettings } from "../config/index.ts";
import type { Json, JsonObject } from "../contract/index.ts";
import type { ActingTool, Prepared } from "../lane/index.ts";
import { findExecutable } from "../task/index.ts";
import { shellText } from "../util/index.ts";
import { act } from "./acting.ts";
import { makeGround, sandboxFor } from "./ground.ts";
import type { Declaration } from "./order.ts";
import type { ActingPlace } from "./place.ts";
import { standingOf } from "./standing.ts";
import { wordsFor } from "./words.ts";

export function declaredTool(place: ActingPlace, name: string, settings: ToolSettings): ActingTool {
  const { description = `The tool ${name} of this repo.`, input, run = [] } = settings;
  const declaration = declarationOf("command", settings);
  return {
    name,
    class: "external",
    description,
    input,
    declaration: { ...declaration } as unknown as Json,
    prepare: async (args) => {
      await checked(name, input, args);
      const words = wordsFor(run, args, input);
      const { task } = place;
      const sandbox = await sandboxFor(task, declaration.hosts);
      const { tree, base, store } = await standingOf(task);
      const files = { repo: task.room.repo, store, tree };
      const executable = await findExecutable(sandbox, words[0] ?? "", files);
      const target = { executable: { ...executable }, parent: base };
      const asked = {
        ...{ tool: name, input, declaration, args, prepared: { target, tree } },
        makeGround: (signal: AbortSignal) => makeGround(task, sandbox, { tree, signal }),
      };
      return {
        target,
        tree,
        base,
        facts: [
          ["runs", shellText(words)],
          [
            "program",
            "path" in executable ? `${executable.path}, sha256 ${executable.sha256}` : executable.tree,
          ],
          ...declarationFacts(declaration),
        ],
        act: (grant, call) => act(place, asked, grant, call),
      } satisfies Prepared;
    },
  };
}

export function declarationOf(
  kind: Declaration["kind"],
  {
    run = [],
    env,
    hosts,
    timeout_minutes: timeoutMinutes,
  }: Pick<ToolSettings, "run" | "env" | "hosts" | "timeout_minutes">,
): Declaration {
  return { kind, words: run, env, hosts, timeoutMinutes };
}

export function declarationFacts({ hosts, env }: Declaration): Prepared["facts"] {
  return [
    ["reaches", hosts.length > 0 ? hosts.join(", ") : "no host"],
    ...(env.length > 0 ? [["variables", env.join(", ")] as const] : []),
  ];
}

/** Loaded with the first call: most tasks make none. */
export async function checked(tool: string, input: JsonObject, args: JsonObject): Promise<void> {
  const { assertArguments } = await import("./input.ts");
  assertArguments(tool, input, args);
}
