/**
 * Owns the sending of traces to a collector, where the process that gave the task named one. The trace is a file of the
 * task's by then: a collector that is not there, hangs or refuses it costs a line in the log, and nothing waits for it but
 * the end of this process.
 */
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Collector, collectorOf } from "../contract/index.ts";
import { readEnvironment, type SessionState } from "../session/index.ts";
import { TRACE_FILE } from "../task/index.ts";
import { artifactsDir, errorCode, logDir, printable, systemClock } from "../util/index.ts";

export class TraceSending {
  readonly #sessionDir: string;
  readonly #underWay = new Set<Promise<void>>();

  constructor(sessionDir: string) {
    this.#sessionDir = sessionDir;
  }

  /** Of a task that has ended; while what it was given is still there. */
  begin({ task }: Pick<SessionState, "task">, request: string): void {
    if (task?.request !== request || task.outcome === null) return;
    const telemetry = readEnvironment(this.#sessionDir, request)?.telemetry;
    if (!telemetry) return;
    const collector = collectorOf(telemetry);
    const sending = (collector ? this.#send(collector, task.number) : Promise.resolve(NO_ADDRESS)).then(
      async (why) => {
        if (why !== undefined) await this.#log(`the trace of task ${task.number} was not sent: ${why}`);
        this.#underWay.delete(sending);
      },
    );
    this.#underWay.add(sending);
  }

  async done(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** A session that is gone meanwhile needs no word. */
  async #log(text: string): Promise<void> {
    const line = `${new Date(systemClock.nowMs()).toISOString()} ${printable(text)}\n`;
    await appendFile(join(logDir(this.#sessionDir), LOG_FILE), line, { mode: 0o600 }).catch(() => {});
  }

  /** Why it was not sent. No header stands in it, and of the address only the host. */
  async #send(collector: Collector, task: number): Promise<string | undefined> {
    try {
      const trace = await readFile(join(artifactsDir(this.#sessionDir, task), TRACE_FILE));
      const { post } = await import("./trace-post.ts");
      const why = await post(collector, trace);
      return why && `${collector.url.host}: ${why}`;
    } catch (error) {
      return errorCode(error) ?? "it can't be read";
    }
  }
}

/** In a file of its own: by then the next process of the session may have begun its log. */
const LOG_FILE = "telemetry.log";
const NO_ADDRESS =
  "OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address without a name and a password in it";
