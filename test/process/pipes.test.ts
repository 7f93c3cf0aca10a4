/**
 * The streams of a command: pipes, as in a shell, which programs can open again by the names of their streams.
 */
import { chmodSync, readdirSync } from "node:fs";
import type { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { launch, plainSandbox, runCommand, taskUser, trySandbox } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";

const canSandbox = (await trySandbox()) === undefined;
if (!canSandbox) console.log("left out: the streams of a command in a sandbox: none can be made");

const env = { PATH: process.env["PATH"] ?? "" };
/** Twenty commands at once need 60, and each time some are made there are six. */
const SPARE = 12;
const descriptors = () => readdirSync("/proc/self/fd").length;

async function said(argv: readonly string[], input?: string) {
  const streams = { stdout: "", stderr: "" };
  const feed = (stream: Writable | null) => void stream?.end(input);
  const end = await runCommand({
    ...{ argv, cwd: "/", env, hasInput: input !== undefined },
    onOutput: (chunk, stream) => {
      streams[stream] += chunk.toString();
    },
    onStart: (_, stream) => feed(stream),
  });
  return { ...streams, exitCode: end.exitCode };
}

/** What scripts do with their streams. */
const SCRIPT =
  'echo 1 > /dev/stdout; echo 2 > /dev/stderr; echo 3 | tee /dev/stderr; cat /dev/stdin; for fd in 0 1 2; do [ -p "/proc/self/fd/$fd" ] || echo "$fd is no pipe"; done';
const SAID = { stdout: "1\n3\nin\n", stderr: "2\n3\n", exitCode: 0 };

describe("a command", () => {
  it("can open its streams by their names, and none of them is a socket", async () => {
    expect(await said(["sh", "-c", SCRIPT], "in\n")).toEqual(SAID);
    expect(await said(["sh", "-c", "cat; echo done"])).toEqual({ stdout: "done\n", stderr: "", exitCode: 0 });
  });

  it.skipIf(!canSandbox)("can do the same in a sandbox, as the task's own user", async () => {
    using temp = new TempDir();
    const user = taskUser("/");
    chmodSync(temp.path, 0o755);
    const entry = { enter: [], hasNetwork: false };
    const asked = { command: ["sh", "-c", SCRIPT], tree: temp.path, entry, env };
    const launched = launch(plainSandbox("/srv/files", user), asked);
    const streams = { stdout: "", stderr: "" };
    const { exitCode } = await runCommand({
      ...{ ...launched, hasInput: true },
      onOutput: (chunk, stream) => {
        streams[stream] += chunk.toString();
      },
      onStart: (_, input) => void input?.end("in\n"),
    });
    expect({ ...streams, exitCode }).toEqual(SAID);
  });

  it("gets all of a large input, and all of its output comes", async () => {
    const large = "0123456789abcdef\n".repeat(200_000);
    const { stdout, exitCode } = await said(["cat"], large);
    expect(exitCode).toBe(0);
    expect(stdout === large).toBe(true);
  });

  it("leaves no descriptor behind, however many run at once or can't be started", async () => {
    await said(["true"]);
    const before = descriptors();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) => said(["echo", String(index)], "")),
    );
    expect(all.map(({ stdout }) => stdout.trim())).toEqual(all.map((_, index) => String(index)));
    await expect(said(["/no/such/program"])).rejects.toMatchObject({ code: "program_missing" });
    // Some wait for the next commands.
    await expect.poll(() => descriptors() - before).toBeLessThanOrEqual(SPARE);
  });
});
