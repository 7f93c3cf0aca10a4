/**
 * The command lines of a home's processes.
 */
import { readTextOr } from "../../src/util/index.ts";
import type { TaskHome } from "./tasks.ts";

export const markedCommands = (home: TaskHome): string[] =>
  home.strays().map((pid) => readTextOr(`/proc/${pid}/cmdline`, "").replaceAll("\0", " "));
