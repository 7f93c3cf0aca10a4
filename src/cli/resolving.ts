/**
 * Owns how a merge conflict is given back: to the session's agent, to another one, to a command, or to a
 * person in a terminal. The task begins with the files as far as git could merge them.
 */
import { HoldfastError, type TaskSpec } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import type { ConflictedFiles } from "../task/index.ts";
import { present } from "../util/index.ts";
import { agentAsked, commandAsked, type RunOptions } from "./run-asked.ts";
import { scope } from "./verb.ts";
import { runAgain } from "./verbs/run.ts";
import type { NamedSession } from "./which-session.ts";

export interface ResolveOptions extends RunOptions {
  readonly into?: string;
}

const NAMED_PATHS = 50;

/** Resolves to the status of its task. */
export async function resolveConflict(
  dispatcher: Dispatcher,
  session: NamedSession,
  command: string[],
  options: ResolveOptions,
): Promise<void> {
  const { id } = session;
  const last = await dispatcher.lastConversed(id, scope(options));
  const isAgent = last && last.agent.adapter !== "exec" && last.agent.adapter !== "script";
  const agent = options.agent ?? (isAgent ? last.name : undefined);
  if (command.length === 0 && agent === undefined)
    throw new HoldfastError(
      "usage",
      `${session.label} has had no agent: name one with --agent, or give a command that resolves the conflict: holdfast merge ${session.label} --resolve -i -- $EDITOR FILE`,
    );
  const given = await dispatcher.holdfast.giveBackConflict(id, {
    ...scope(options),
    ...present({ into: options.into }),
  });
  const title = `resolve the conflicts with ${given.into}`;
  const asked = { ...options, session: id, title };
  const { spec } =
    command.length > 0
      ? commandAsked(command, asked)
      : await agentAsked(dispatcher, promptFor(given), { ...asked, ...present({ agent }), continue: true });
  await runAgain(dispatcher, session, beginningWith(spec, given), asked);
}

function beginningWith(spec: TaskSpec, { base, snapshot, tree }: ConflictedFiles): TaskSpec {
  return { ...spec, base, snapshot, carried: { from: base, tree, hasUnpublished: true } };
}

function promptFor({ into, paths }: ConflictedFiles): string {
  const more = paths.length > NAMED_PATHS ? `\n- and ${paths.length - NAMED_PATHS} more` : "";
  const list = paths.slice(0, NAMED_PATHS).map((path) => `- ${path}`);
  return `Your work in this session and the branch ${into} change the same places. The files are now those of ${into}, with your work merged in as far as git could. In these files git could not merge it:\n${list.join("\n")}${more}\n\nThe text between <<<<<<< and ======= is from ${into}, the text between ======= and >>>>>>> is yours. Combine the two so that both keep their purpose, leave no conflict marker behind, and say what you decided.`;
}
