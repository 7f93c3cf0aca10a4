export { type CgroupShare, cgroupLeftovers, findCgroup, refusalsFromNow, tryCgroup } from "./cgroup.ts";
export {
  CONNECTION_FD,
  type CommandEnd,
  type Connected,
  runCommand,
  startConnected,
  startDetached,
  startFed,
  startWaiting,
} from "./command.ts";
export { diskUse, diskUseOfEach } from "./disk-use.ts";
export { baseEnvironment, claudeDir, USER_HOME, useClaudeDir, userHome } from "./environment.ts";
export { findProgram } from "./find-program.ts";
export { isInForeground, runInForeground } from "./foreground.ts";
export { type Frozen, freezeHeld, freezeMarked, freezeTree, thawTree } from "./freezing.ts";
export {
  endHolder,
  enterFiles,
  enterHolder,
  enterNetwork,
  type Holder,
  mountedBy,
  throughHolder,
} from "./holder.ts";
export { ComingHolder, startHolder } from "./holder-start.ts";
export { halfOfAllProcesses, limited, ownMostOpenFiles, type ProcessLimits } from "./limits.ts";
export { CAPSULE_MARK, endMarked, markedProcesses } from "./marks.ts";
export { withNetwork } from "./network/held.ts";
export { type EnterWords, InsideConnector, type InsideListener, listenInside } from "./network/opener.ts";
export { isOpenAnywhere } from "./open-files.ts";
export { findOutsideProgram } from "./outside-program.ts";
export { ownProgram, SMALL_HEAP } from "./own-program.ts";
export { preparePipes } from "./pipes.ts";
export { type ProgramOptions, type ProgramResult, removeTreeNow, runMkfifo, runProgram } from "./program.ts";
export { type Launch, type LaunchOptions, launch } from "./sandbox/launch.ts";
export { programsNamed } from "./sandbox/named-programs.ts";
export { plainSandbox, type Sandbox } from "./sandbox/sandbox.ts";
export { toolVariables } from "./sandbox/tool-places.ts";
export { findTools, type Tools } from "./sandbox/tools.ts";
export { trySandbox, unusableTools } from "./sandbox/try.ts";
export { type TaskUser, taskUser } from "./sandbox/user.ts";
export {
  assertTerminal,
  dyingWithUs,
  inTerminal,
  makeRaw,
  resizeTerminal,
  type TerminalSize,
  terminalSize,
} from "./terminal.ts";
export { measureTree, unnamedBytes, writtenBytes } from "./tree.ts";
