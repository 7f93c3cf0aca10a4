/**
 * The root of a sandbox: which parts of the machine a task sees.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { etcSecrets, withinBound } from "../../../src/process/sandbox/etc.ts";
import { groupText, hostsText, passwdText } from "../../../src/process/sandbox/identity.ts";
import { parentDirs, shownArguments } from "../../../src/process/sandbox/mounts.ts";
import { noTools } from "../../../src/process/sandbox/tools.ts";
import { hasSandbox } from "../../support/capsules.ts";
import { TempDir } from "../../support/home.ts";
import { NOBODY } from "../../support/nobody.ts";
import { ownIds, saidUnderRoot } from "../../support/shown.ts";

const dirsOf = (args: readonly string[]) => args.filter((_, at) => args[at - 1] === "--dir");
const isRoot = process.getuid?.() === 0;

describe.skipIf(!hasSandbox)("the root of a sandbox", () => {
  it("view-1 shows the directories of the machine's programs, and no others", () => {
    const seen = saidUnderRoot("ls -A /").split("\n");
    expect(seen).toEqual(expect.arrayContaining(["bin", "dev", "etc", "proc", "run", "tmp", "usr", "var"]));
    for (const name of ["root", "mnt", "media", "srv", "boot", "home"].filter((one) => existsSync(`/${one}`)))
      if (name !== "home" || !existsSync("/home/linuxbrew")) expect(seen).not.toContain(name);
    expect(saidUnderRoot("sh -c 'echo runs'; /bin/sh -c 'echo too'; git --version")).toMatch(
      /^runs\ntoo\ngit version/,
    );
  });

  it("view-1 is writable only in temporary directories of its own, and has an empty /run", () => {
    const tried = "/ /run /var /usr /etc /dev /proc/sys/kernel /sys/devices/system/cpu".split(" ");
    const said = saidUnderRoot(`for dir in ${tried.join(" ")}; do (: > $dir/written) 2>&1; done; ls -A /run`);
    expect(said.split("\n")).toHaveLength(tried.length);
    expect(said).not.toMatch(/written$/m);
    expect(
      saidUnderRoot("for dir in /tmp /var/tmp /dev/shm; do echo mine > $dir/f && cat $dir/f; done"),
    ).toBe("mine\nmine\nmine");
  });

  it("view-1 mounts the kernel's settings read-only, so that not even their owner can change them", () => {
    const options = saidUnderRoot("grep ' /proc/sys ' /proc/self/mounts | tail -n 1 | cut -d ' ' -f 4");
    expect(options.split(",")).toContain("ro");
  });

  it("view-1 bounds the size of /tmp and /dev/shm, and lets every user write there", () => {
    const said = saidUnderRoot("stat -c %a /tmp /dev/shm; df -k --output=size /tmp /dev/shm");
    expect(said).toMatch(/^1777\n1777\n/);
    for (const size of said.match(/\d{5,}/g) ?? []) expect(Number(size)).toBeLessThanOrEqual(1024 * 1024);
  });

  it("shows the task's own user, but not the machine's other users or its machine-id", () => {
    expect(saidUnderRoot("id -un; cat /etc/passwd /etc/group /etc/machine-id")).toBe(
      `holdfast\n${passwdText(ownIds, "/nowhere")}${groupText(ownIds)}686f6c64666173740000000000000000`,
    );
  });

  it("resolves its own name and the machine's names for the loopback, but not the machine's own name", () => {
    expect(saidUnderRoot("getent hosts holdfast localhost | sort -u")).toContain("127.0.1.1");
    const machines =
      "127.0.0.1 localhost\n127.0.1.1 laptop.lan laptop\n10.0.0.7 db\n127.0.0.9 app.test # ours\n";
    expect(hostsText(machines, "laptop")).toBe(
      "127.0.0.1 localhost\n127.0.0.9 app.test # ours\n127.0.0.1 localhost\n127.0.1.1 holdfast\n",
    );
  });

  it("shows how many processors there are", () => {
    const [asked, listed] = saidUnderRoot("nproc; cat /sys/devices/system/cpu/online").split("\n");
    expect(Number(asked)).toBeGreaterThan(0);
    expect(listed).toMatch(/^\d/);
  });

  it("view-1 covers whole directories of /etc when there are too many secrets to cover one by one", () => {
    const many = ["/etc/shadow", "/etc/a/one", "/etc/a/b/two", "/etc/c/three", "/etc/c/three/four"];
    expect(withinBound(many, 4)).toEqual(["/etc/a/b/two", "/etc/a/one", "/etc/c/three", "/etc/shadow"]);
    expect(withinBound(many, 3)).toEqual(["/etc/a", "/etc/c", "/etc/shadow"]);
  });

  it.skipIf(!isRoot)(
    "view-1 empties the secrets of /etc that the task's user could read, and covers no others",
    () => {
      // Root can read all of them.
      const covered = etcSecrets({ uid: 0, gid: 0 });
      expect(covered).toEqual(expect.arrayContaining(["/etc/shadow", "/etc/gshadow"]));
      expect(saidUnderRoot(`find ${covered.join(" ")} -type f -o -mindepth 1; cat /etc/shadow`)).toBe("");
      expect(etcSecrets({ uid: NOBODY, gid: NOBODY })).not.toContain("/etc/shadow");
    },
  );

  it.skipIf(!isRoot)("view-1 empties what only the task's user may read in a directory of /etc", () => {
    const user = { uid: 60_701, gid: 60_701 };
    const dir = mkdtempSync("/etc/holdfast-test-");
    try {
      chmodSync(dir, 0o755);
      const secret = join(dir, "secret");
      writeFileSync(secret, "PLANTED", { mode: 0o600 });
      chownSync(secret, user.uid, user.gid);
      expect(etcSecrets(user)).toContain(secret);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("the arguments for bubblewrap", () => {
  it("make each parent directory once, the outermost first, and none inside what is shown", () => {
    expect(dirsOf(parentDirs(["/a/b/c/d", "/a/b/e", "/usr/local/lib/x", "/a/b/c/f"]))).toEqual([
      "/a",
      "/a/b",
      "/a/b/c",
    ]);
    expect(dirsOf(parentDirs(["/a/b/c/d"], ["/a/b"]))).toEqual(["/a"]);
  });

  it("leave out a path that is gone since it was found, instead of failing", () => {
    const gone = { ...noTools, read: ["/gone/dir"], covered: ["/gone/dir/token", "/gone/dir/in"] };
    expect(shownArguments(gone).show).toEqual(["--perms", "0755", "--dir", "/gone", ...tried("/gone/dir")]);
    expect(shownArguments(gone).seal).toEqual([]);
    if (hasSandbox) expect(saidUnderRoot("ls /gone", gone)).toBe("");
  });

  it.skipIf(!hasSandbox)(
    "make a covered directory read-only, and empty except for what is shown in it",
    () => {
      using dir = new TempDir();
      mkdirSync(dir.join("all", "covered", "in", "deep"), { recursive: true });
      writeFileSync(dir.join("all", "covered", "secret"), "secret");
      writeFileSync(dir.join("all", "covered", "in", "deep", "shown"), "shown");
      const tools = {
        ...noTools,
        read: [dir.join("all"), dir.join("all", "covered", "in", "deep")],
        covered: [dir.join("all", "covered")],
      };
      const at = dir.join("all", "covered");
      expect(saidUnderRoot(`cd ${at} && ls -R . && cat in/deep/shown; (: > new) 2>&1`, tools)).toMatch(
        /^\.:\nin\n\n\.\/in:\ndeep\n\n\.\/in\/deep:\nshown\nshown.*Read-only file system$/s,
      );
    },
  );

  it.skipIf(!hasSandbox)("keep a task from connecting to a covered socket", async () => {
    using dir = new TempDir();
    const server = createServer((socket) => socket.end("host"));
    await new Promise<void>((resolve) => server.listen(dir.join("socket"), resolve));
    const connect = `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => "${dir.join("socket")}") ? "reached" : "refused"'`;
    const shown = { ...noTools, read: [dir.path] };
    expect(saidUnderRoot(connect, shown)).toBe("reached");
    expect(saidUnderRoot(connect, { ...shown, covered: [dir.join("socket")] })).toBe("refused");
    server.close();
  });
});

const tried = (path: string) => ["--ro-bind-try", path, path];

describe("the accounts in a sandbox", () => {
  it("list the task's user in place of an account with the same number", () => {
    expect(passwdText({ uid: 1000, gid: 1000 }, "/h").split("\n")).toHaveLength(4);
    expect(passwdText({ uid: 0, gid: 0 }, "/h")).toMatch(/^holdfast:x:0:0::\/h:\/bin\/sh\nnobody/);
    expect(groupText({ uid: 1, gid: NOBODY })).toBe(`root:x:0:\nholdfast:x:${NOBODY}:\n`);
  });

  it("get no extra line or field from the path of a HOME", () => {
    expect(passwdText({ uid: 5, gid: 5 }, "/h\nroot::0:0").split("\n")[1]).toBe(
      "holdfast:x:5:5::/h_root__0_0:/bin/sh",
    );
  });
});
