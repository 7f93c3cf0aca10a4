/**
 * Owns sending traces to a collector, if the process that gave the task named one. By then, the trace is a
 * file of the task: a collector that does not answer, hangs or refuses it costs a line in the log, and only
 * the end of this process waits for it.
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

  /** For a task that has ended, while the values that it was given still exist. */
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

  /** A session that is gone meanwhile needs no report. */
  async #log(text: string): Promise<void> {
    const line = `${new Date(systemClock.nowMs()).toISOString()} ${printable(text)}\n`;
    await appendFile(join(logDir(this.#sessionDir), LOG_FILE), line, { mode: 0o600 }).catch(() => {});
  }

  /** Why it was not sent. It contains no header, and only the host of the address. */
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

/** In a file of its own, because the next process of the session may have begun its log by then. */
const LOG_FILE = "telemetry.log";
const NO_ADDRESS =
  "OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https address, or has a user name or password in it";
