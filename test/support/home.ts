/**
 * A home for one test, in a directory that is removed with it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HoldfastOptions } from "../../src/home/open.ts";
import { type LocalHome, openLocalHome } from "../../src/library/local-home.ts";
import { findHomeRuntimeDir } from "../../src/mail/index.ts";
import type { redactSecrets } from "../../src/redaction/index.ts";
import { realDisk, systemClock } from "../../src/util/index.ts";

/** A directory in memory, if there is one: for tests that write the same few bytes thousands of times. */
export const memoryDir = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export class TempDir implements Disposable {
  readonly path: string;

  constructor(parent = tmpdir()) {
    this.path = mkdtempSync(join(parent, "holdfast-test-"));
  }

  join(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  [Symbol.dispose](): void {
    // Tests take permissions away, and so does the kernel in an overlay's work directory. It does not matter
    // if some files are removed meanwhile.
    spawnSync("chmod", ["-R", "u+rwX", this.path], { stdio: "ignore" });
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class TestHome extends TempDir {
  /** Names that were read: a session that was removed has no journal to read its name from. */
  readonly #labels = new Map<string, string>();

  get dir(): string {
    return this.join("home");
  }

  open(options: HoldfastOptions = {}): Promise<LocalHome> {
    return openLocalHome({ home: this.dir, ...options });
  }

  override [Symbol.dispose](): void {
    // The directory in which its session processes had their sockets.
    const runtime = findHomeRuntimeDir(this.dir);
    if (runtime) rmSync(runtime, { recursive: true, force: true });
    super[Symbol.dispose]();
  }

  sessionDir(id: string, ...parts: string[]): string {
    return join(this.dir, "sessions", id, ...parts);
  }

  /** The id of the session that the command line calls by this name; an id stays as it is. */
  idOf(label: string): string {
    if (label.startsWith("sess_")) return label;
    for (const repo of readdirSync(join(this.dir, "names"))) {
      const claim = join(this.dir, "names", repo, label);
      if (label !== "" && existsSync(claim)) return readFileSync(claim, "utf8").trim().split(" ")[0] ?? "";
    }
    throw new Error(`no session is called ${JSON.stringify(label)}`);
  }

  /** What the command line calls a session: the name in its last record that has one, or else its id. */
  labelOf(id: string): string {
    const label = this.#labels.get(id) ?? this.#readLabel(id);
    this.#labels.set(id, label);
    return label;
  }

  /** The branch that a session publishes to. */
  branchOf(id: string): string {
    const label = this.labelOf(id);
    return `holdfast/${label === id ? id.slice(-10) : label}`;
  }

  #readLabel(id: string): string {
    let name: string | undefined;
    for (const segment of readdirSync(this.sessionDir(id, "journal")).sort())
      for (const line of readFileSync(this.sessionDir(id, "journal", segment), "utf8").split("\n"))
        if (/"type":"session_(opened|forked|imported)"/.test(line))
          name = (JSON.parse(line) as { data: { name?: string } }).data.name ?? name;
    return name ?? id;
  }
}

/** The io of a journal without redaction: for tests of its bytes, where redaction would only cost time. */
export const plainPorts = {
  disk: realDisk,
  clock: systemClock,
  redact: async (batch: readonly Parameters<typeof redactSecrets>[0][number][]) =>
    batch.map((data) => ({ data, rules: [] })),
};

/** Opens a session, records some turns, and pauses it. */
export async function sessionWithTurns(
  hf: LocalHome,
  turns: number,
  options: { user?: string; title?: string } = {},
): Promise<string> {
  const session = await hf.openSession(options);
  for (let number = 1; number <= turns; number += 1) {
    const turn = await session.beginTurn(`input ${number}`);
    const call = await turn.callTool("read_file", { path: `file-${number}` });
    await call.returned(`content ${number}`);
    await turn.addMessage("assistant", `answer ${number}`);
    await turn.end({ inputTokens: 100, outputTokens: 10, usd: 0.01 });
  }
  await session.pause();
  return session.id;
}
