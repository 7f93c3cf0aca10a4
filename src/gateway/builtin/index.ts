/**
 * Owns the list of the built-in tools.
 */
import type { PlainTool } from "../../lane/index.ts";
import { gitCommitTool, gitDiffTool, gitLogTool } from "./git.ts";
import { listFilesTool } from "./list-files.ts";
import type { ToolPlace } from "./place.ts";
import { readBlobTool } from "./read-blob.ts";
import { readFileTool } from "./read-file.ts";
import { endCommandTool, runCommandTool } from "./run-command.ts";
import { searchCodeTool } from "./search-code.ts";
import { askPersonTool, noteTool, sendMessageTool } from "./speaking.ts";
import { editFileTool, writeFileTool } from "./write-files.ts";

const makers: readonly ((place: ToolPlace) => PlainTool)[] = [
  readFileTool,
  listFilesTool,
  searchCodeTool,
  gitDiffTool,
  gitLogTool,
  readBlobTool,
  editFileTool,
  writeFileTool,
  runCommandTool,
  endCommandTool,
  gitCommitTool,
  sendMessageTool,
  askPersonTool,
  noteTool,
];

export const builtinTools = (place: ToolPlace): PlainTool[] => makers.map((make) => make(place));
