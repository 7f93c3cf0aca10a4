import { execFileSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  ComingHolder,
  endHolder,
  type Holder,
  markedProcesses,
  runProgram,
  trySandbox,
} from "../../src/process/index.ts";
import { identityOf, isAlive, signalIfThere } from "../../src/util/index.ts";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";

const canSandbox = (await trySandbox()) === undefined;
const marked = (mark: string) => markedProcesses().filter((one) => one.mark === mark);

async function gone(mark: string): Promise<void> {
  for (const untilMs = Date.now() + 10_000; marked(mark).length > 0 && Date.now() < untilMs; ) await sleep(5);
  expect(marked(mark)).toEqual([]);
}

describe.skipIf(!canSandbox)("a starting holder", () => {
  it("has its network before it is told what to hold, and keeps it afterwards", async () => {
    using temp = new TempDir();
    const mark = temp.path;
    const coming = new ComingHolder({ cwd: temp.path, mark, hasNetwork: true });
    const enter = (await coming.network()) ?? [];
    const look = [...enter, "readlink", "/proc/self/ns/net"];
    const { stdout } = await runProgram(look, { env: { PATH: process.env["PATH"] ?? "" } });
    expect(await coming.isWaiting()).toBe(true);
    const recorded: Holder[] = [];
    const holder = await coming.hold({ record: async (one) => void recorded.push(one) });
    expect(recorded).toEqual([holder]);
    expect(holder.netNamespace).toBe(stdout.toString("utf8").trim());
    expect(holder.netNamespace).not.toBe(readlinkSync("/proc/self/ns/net"));
    expect(await coming.isWaiting()).toBe(false);
    // Now it holds something, so `end` has to leave it alone.
    coming.end();
    expect(isAlive(holder)).toBe(true);
    await endHolder(holder, mark);
    await gone(mark);
  });

  it("exits when its starter does not need it", async () => {
    using temp = new TempDir();
    const coming = new ComingHolder({ cwd: temp.path, mark: temp.path, hasNetwork: true });
    await coming.network();
    expect(marked(temp.path)).not.toEqual([]);
    coming.end();
    expect(await coming.isWaiting()).toBe(false);
    await gone(temp.path);
  });

  it("no longer counts as waiting after another process killed it, and can hold nothing", async () => {
    using temp = new TempDir();
    const coming = new ComingHolder({ cwd: temp.path, mark: temp.path, hasNetwork: true });
    await coming.network();
    const pids = marked(temp.path).map(({ pid }) => pid);
    for (const pid of pids) signalIfThere(pid, "SIGKILL");
    // A dying process loses its environment, and with it its mark, a while before the kernel reports its
    // end.
    await expect.poll(() => pids.filter((pid) => isAlive(identityOf(pid)))).toEqual([]);
    expect(await coming.isWaiting()).toBe(false);
    const held = coming.hold({ record: async () => {} });
    await expect(held).rejects.toMatchObject({ code: "mount_failed" });
  });

  it.each([
    ["before it holds anything", ""],
    ["after it holds something that is not on record yet", "held"],
  ])("holder-2 ends by itself when its starter is killed %s", async (_, how) => {
    using temp = new TempDir();
    const child = new TestChild("coming-holder.ts", [temp.path, how]);
    await child.line((line) => line === "waiting");
    expect(marked(temp.path)).not.toEqual([]);
    child.kill("SIGKILL");
    await child.ended();
    await gone(temp.path);
  });

  it.each(["network", "none"])("sandbox-2 does not see what the machine mounts later (%s)", (network) => {
    using temp = new TempDir();
    const fixture = join(import.meta.dirname, "..", "fixtures", "late-mount.ts");
    const shared = ["sh", "-c", 'mount --make-rshared / && exec "$0" "$@"'];
    const own = ["unshare", ...(process.getuid?.() === 0 ? [] : ["-Ur"]), "-m"];
    const [program = "", ...args] = [...own, ...shared, process.execPath, fixture, temp.path, network];
    const said = execFileSync(program, args, { encoding: "utf8" });
    expect(said).toBe("mounted=true before=true late=false\n");
  });
});
