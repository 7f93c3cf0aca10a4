/**
 * Tasks that root starts: they run as another user, who can read what they need, and leave no file with
 * root's rights.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { USER_HOME } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { NOBODY } from "../support/nobody.ts";
import { fingerprint } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot || !hasSandbox)
  console.log("left out: tasks of root's: this is not root, or there is no bubblewrap");

const chmodAll = (mode: string, dir: string) => execFileSync("chmod", ["-R", mode, dir]);

/** Git requires this setting to work on a repo of another user. */
function trusting(home: TaskHome): Disposable {
  const before = process.env[USER_HOME];
  process.env[USER_HOME] = home.path;
  writeFileSync(home.join(".gitconfig"), `[safe]\n\tdirectory = ${home.main}\n`);
  return {
    [Symbol.dispose]: () => {
      if (before === undefined) delete process.env[USER_HOME];
      else process.env[USER_HOME] = before;
    },
  };
}

describe.skipIf(!isRoot || !hasSandbox)("a task that root starts", () => {
  it.each([
    ["all objects, as umask 077 makes them", (objects: string) => chmodAll("go-rwx", objects)],
    ["one directory", (objects: string) => chmodSync(join(objects, "pack"), 0o700)],
    [
      "the packs",
      (objects: string) => {
        execFileSync("git", ["-C", join(objects, ".."), "gc", "-q"]);
        for (const name of readdirSync(join(objects, "pack"))) chmodSync(join(objects, "pack", name), 0o400);
      },
    ],
  ])("user-1 is refused if its user can't read the repo (%s), and nothing is changed", async (_, close) => {
    using home = new TaskHome();
    const objects = join(home.main, ".git", "objects");
    close(objects);
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    const before = fingerprint(home.main);
    const failure = await hf.startTask(session, sandbox).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "repo_unreadable",
      message: expect.stringContaining(`chmod -R go+rX ${objects}`),
    });
    expect(session.state.task).toBeNull();
    expect(fingerprint(home.main)).toEqual(before);
    // The command that the error names solves it.
    chmodAll("go+rX", objects);
    const task = await hf.startTask(session, sandbox);
    expect(await turn(task, "git log --oneline | wc -l; id -u")).toMatch(/^\d+\n[1-9]\d*$/);
    await task.end("done");
    await session.pause();
  });

  it("user-1 runs as the repo's owner, and can read files that only the owner can read", async () => {
    using home = new TaskHome();
    using _ = trusting(home);
    execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, home.main]);
    chmodAll("go-rwx", join(home.main, ".git", "objects"));
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    expect(
      await turn(task, "git log --oneline | wc -l; id -u; touch new; stat -c %u new $HOME $TMPDIR"),
    ).toMatch(new RegExp(`^\\d+\\n${`${NOBODY}\\n`.repeat(3)}${NOBODY}$`));
    await task.end("done");
    await session.pause();
  });

  it("user-1 leaves no setuid file and no setgid file of root's group on the host", async () => {
    using home = new TaskHome({
      "holdfast.yaml": "capsule: { setup: sh ./setup.sh }\n",
      "setup.sh": "cp /bin/true set-up; chmod 6755 set-up; mkdir -p shared; chmod 2775 shared; true\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const tries = [
      'for dir in . "$HOME" "$TMPDIR" /tmp; do cp /bin/true "$dir/made"; chmod 6755 "$dir/made"; chmod u+s,g+s "$dir/made"; done',
      'install -m 4755 /bin/true "$HOME/installed"; python3 -c "import os; os.mknod(\'m\', 0o104755)" 2>/dev/null',
      "mkdir -p d; chmod 2777 d; chown 0:0 made 2>/dev/null; setcap cap_setuid+ep made 2>/dev/null",
      "tar -cf t.tar made; tar -xpf t.tar; ln made linked; true",
    ];
    await turn(task, tries.join("; "));
    await task.end("done");
    await session.pause();
    expect(powerful(home.path)).toEqual([]);
    // The search does find such a file.
    writeFileSync(home.join("planted"), "", { mode: 0o755 });
    chmodSync(home.join("planted"), 0o4755);
    expect(powerful(home.path)).toEqual([home.join("planted")]);
  });
});

/** All setuid files, and the setgid files of root's group. */
function powerful(dir: string): string[] {
  const ask = [dir, "(", "-perm", "/4000", "-o", "-perm", "/2000", "-gid", "0", ")"];
  return execFileSync("find", ask, { encoding: "utf8" }).split("\n").filter(Boolean);
}
