/**
 * Freezing processes that start others all the time: afterwards nothing of them runs, however often it is
 * tried.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freezeHeld, freezeMarked, freezeTree, thawTree } from "../../src/process/freezing.ts";
import { endHolder, enterHolder } from "../../src/process/holder.ts";
import { startHolder } from "../../src/process/holder-start.ts";
import { CAPSULE_MARK, findProgram } from "../../src/process/index.ts";
import { treeOf } from "../../src/process/tree.ts";
import { readTextOr, signalIfThere } from "../../src/util/index.ts";
import { TempDir } from "../support/home.ts";
import { until } from "../support/hosts.ts";

/**
 * Each worker starts one child after the other, and each child counts in a file. The memory makes a fork take
 * long, and with `vfork` the parent waits in the state D.
 */
const LOOP = `
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char *memory = malloc(32 << 20);
  memset(memory, 1, 32 << 20);
  int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (int i = 0; i < 3; i++)
    if (fork() == 0)
      for (;;) {
        pid_t child = i == 0 ? vfork() : fork();
        if (child == 0) {
          for (int n = 0; n < 20; n++) if (write(fd, "x", 1) < 0) _exit(1);
          _exit(0);
        }
        waitpid(child, 0, 0);
      }
  pause();
}
`;
const TRIES = 50;
const hasGcc = findProgram("gcc") !== undefined;
if (!hasGcc) console.log("left out: freezing processes that fork: gcc is not installed");

/** The states of all threads of these processes. */
function statesOf(pids: readonly number[]): string {
  const states = pids.flatMap((pid) => {
    const threads = readTextOr(`/proc/${pid}/stat`, "") === "" ? [] : readdirSync(`/proc/${pid}/task`);
    return threads.map((thread) => {
      const stat = readTextOr(`/proc/${pid}/task/${thread}/stat`, ") X");
      return stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "";
    });
  });
  return states.sort().join("");
}

describe.skipIf(!hasGcc)("processes that start others all the time", () => {
  let temp: TempDir;
  beforeAll(() => {
    temp = new TempDir();
    writeFileSync(temp.join("loop.c"), LOOP);
    execFileSync("gcc", ["-O1", "-o", temp.join("loop"), temp.join("loop.c")]);
  });
  afterAll(() => temp[Symbol.dispose]());

  /** Freezes them again and again, and lets them go on in between. */
  async function expectStill(words: readonly string[], freeze: (pid: number) => Disposable): Promise<void> {
    const counted = temp.join("counted");
    writeFileSync(counted, "");
    const [program = "", ...args] = [...words, temp.join("loop"), counted];
    const loop: ChildProcess = spawn(program, args, { stdio: "ignore" });
    const pid = loop.pid ?? 0;
    const size = () => statSync(counted).size;
    try {
      for (let tried = 0; tried < TRIES; tried += 1) {
        const before = size();
        await until(() => size() > before);
        const frozen = freeze(pid);
        const [counts, pids] = [readFileSync(counted), treeOf(pid)];
        expect(pids.length).toBeGreaterThan(3);
        // Looks for long enough that a child that was on its way would show.
        for (let look = 0; look < 20; look += 1) {
          expect(treeOf(pid)).toEqual(pids);
          expect(statesOf(pids)).toMatch(/^[DTtXZ]*$/);
        }
        expect(readFileSync(counted).equals(counts)).toBe(true);
        frozen[Symbol.dispose]();
      }
    } finally {
      const gone = once(loop, "close");
      freezeTree(pid);
      for (const one of treeOf(pid)) signalIfThere(one, "SIGKILL");
      await gone;
    }
  }

  it("stand still with everything that they start after freezeTree", async () => {
    await expectStill([], (pid) => {
      freezeTree(pid);
      return { [Symbol.dispose]: () => thawTree(pid) };
    });
  });

  it("stand still after freezeMarked if the first has the mark of a capsule", async () => {
    const mark = temp.join("marked");
    await expectStill(["env", `${CAPSULE_MARK}=${mark}`], () => freezeMarked(mark));
  });

  it("stand still in the namespaces of a holder after freezeHeld", async () => {
    const mark = temp.join("capsule");
    const holder = await startHolder({ cwd: "/", mark, hasNetwork: false, record: async () => {} });
    try {
      await expectStill(enterHolder(holder), () => freezeHeld(holder, mark));
    } finally {
      await endHolder(holder, mark);
    }
  });

  it("are left alone by freezeHeld if they are not ours and not in the namespaces: their mark is forged", async () => {
    const mark = temp.join("forged");
    const holder = await startHolder({ cwd: "/", mark, hasNetwork: false, record: async () => {} });
    // Its parent ends at once, so it does not descend from this process.
    const script = "sleep 60 >/dev/null 2>&1 & echo $!";
    const stranger = Number(
      execFileSync("sh", ["-c", script], { env: { ...process.env, [CAPSULE_MARK]: mark } }),
    );
    try {
      await until(() => !treeOf(process.pid).includes(stranger));
      expect(readTextOr(`/proc/${stranger}/environ`, "")).toContain(mark);
      using frozen = freezeHeld(holder, mark);
      expect(frozen).toBeDefined();
      expect(statesOf([stranger])).not.toContain("T");
    } finally {
      process.kill(stranger, "SIGKILL");
      await endHolder(holder, mark);
    }
  });
});
