/**
 * Owns the type of a task as a program asks for it. The form that checks it is in forms.ts.
 */
import type { Budget } from "../contract/index.ts";

/** A task as the library and the API are asked for it: exactly one of `prompt`, `command` and `script`. */
export interface TaskRequest {
  /** What an agent is to do, in plain words. */
  readonly prompt?: string | undefined;
  /** The agent that gets the prompt. Default: the session's agent, else as `holdfast run` chooses. */
  readonly agent?: string | undefined;
  /** The model that the agent asks. */
  readonly model?: string | undefined;
  /** Whether the prompt continues the session's conversation with that agent. */
  readonly isContinued?: boolean | undefined;
  /** A program and its arguments. */
  readonly command?: readonly string[] | undefined;
  /** Whether the command is started again after a crash of its session process. */
  readonly isRestarted?: boolean | undefined;
  /** The text of a script (docs/script.md). */
  readonly script?: string | undefined;
  /** Variables of the script. They are on record. */
  readonly vars?: Readonly<Record<string, string>> | undefined;
  /** What the task is about, in the commit of its work. */
  readonly title?: string | undefined;
  /** The commit that it begins with. Default: what the session's last task left. */
  readonly base?: string | undefined;
  /** Begin with the repo's default base, whatever the last task left. */
  readonly isFresh?: boolean | undefined;
  /** The directory of the repo to start in, by its path from the top. */
  readonly cwd?: string | undefined;
  /** What the task may do. Default: the repo's default lane. */
  readonly lane?: string | undefined;
  /** Hosts that it may reach in addition to those of its lane. */
  readonly hosts?: readonly string[] | undefined;
  /** Variables for its environment, in addition to those that settings.yaml and the agent's definition name. Their values are in no record. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Tasks with a higher priority begin earlier. Default: 0. */
  readonly priority?: number | undefined;
  /** New limits of the session, set before the task begins, each at least as high as before. Refused while the session runs. */
  readonly budget?: Budget | undefined;
}
