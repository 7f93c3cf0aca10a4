/**
 * Owns the adapter for any command: one turn, in which the command is the only tool call.
 *
 * What a kill leaves: an open turn with an open call. The next owner of the session closes both, with the
 * output so far. The command is run again if the task declares that it can continue.
 */
import type { ExecSpec } from "../contract/index.ts";
import type { Adapter } from "./adapter.ts";

export const exec = {
  name: "exec",
  goesOn: ({ restart }) => restart,
  async drive(work, { command, input }) {
    await using turn = await work.beginTurn({ command });
    const call = await turn.callTool("run_command", { command });
    const process = await work.start(command, {
      hasInput: input !== "nothing",
      hasTerminal: input === "terminal",
    });
    if (input === "messages" && process.input) work.messages.open(process.input);
    const { exitCode, signal, isStopped, excerpt } = await process.ended;
    const result = { exitCode, signal, output: excerpt };
    if (isStopped) {
      await call.interrupted(result);
      await turn.interrupt();
      return { outcome: "stopped", exitCode, signal };
    }
    const isDone = exitCode === 0;
    await (isDone ? call.returned(result) : call.failed(result));
    await (isDone ? turn.end() : turn.fail());
    return { outcome: isDone ? "done" : "failed", exitCode, signal };
  },
} satisfies Adapter<ExecSpec>;
