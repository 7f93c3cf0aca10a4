/**
 * What the sandbox keeps away, one kind of thing in each test. Most tests plant something, and show first
 * that it can be reached from outside.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  findProgram,
  type LaunchOptions,
  launch,
  plainSandbox,
  runProgram,
  type Sandbox,
  taskUser,
} from "../../src/process/index.ts";
import { noTools } from "../../src/process/sandbox/tools.ts";
import { quoted } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { NOBODY } from "../support/nobody.ts";

const isRoot = process.getuid?.() === 0;
const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
if (!hasSandbox) leaveOut("the wall of the sandbox", "bubblewrap is not installed");

const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };

/** Both streams of a shell script, without a sandbox. */
async function outside(script: string): Promise<string> {
  return said(["sh", "-c", script]);
}

/** The same in a sandbox whose tree is this directory. */
async function inside(
  dir: string,
  script: string,
  view: Partial<Sandbox & Pick<LaunchOptions, "writable" | "isReadOnly">> = {},
): Promise<string> {
  const { writable, isReadOnly, ...more } = view;
  for (const own of [dir, ...(writable ?? [])]) giveAway(own);
  const launched = launch(
    { ...plainSandbox(dir, taskUser("/")), ...more },
    {
      command: ["sh", "-c", script],
      tree: dir,
      entry: { enter: [], hasNetwork: false },
      env,
      writable: writable ?? [],
      isReadOnly: isReadOnly ?? false,
    },
  );
  return said(launched.argv, launched);
}

/** Makes the user of a task's processes its owner. */
function giveAway(dir: string): void {
  const user = taskUser("/");
  if (user) chownSync(dir, user.uid, user.gid);
}

async function said(argv: readonly string[], options: object = {}): Promise<string> {
  const { stdout, stderr } = await runProgram(argv, { env, cwd: "/", timeoutMs: 30_000, ...options });
  return `${stdout}${stderr}`.trim();
}

/** Where this user can make a directory below /run. */
const ownRun = ["/run", process.env["XDG_RUNTIME_DIR"] ?? "", `/run/user/${process.getuid?.()}`].find(
  (dir) => {
    try {
      accessSync(dir, constants.W_OK);
      return dir === "/run" || dir.startsWith("/run/");
    } catch {
      return false;
    }
  },
);

describe.skipIf(!hasSandbox)("the sandbox", () => {
  if (!ownRun) leaveOut("sockets below /run", "this user can make none");
  it.skipIf(!ownRun)(
    "sandbox-2 keeps a task from connecting to a socket below /run and from writing there",
    async () => {
      using temp = new TempDir();
      using run = new TempDir(ownRun);
      const server = createServer((socket) => socket.end("REACHED")).listen(run.join("socket"));
      await once(server, "listening");
      try {
        // Node may be installed below /tmp, and the sandbox has a /tmp of its own.
        const knock = `-e 'require("net").connect(process.argv[1]).on("error", () => {}).pipe(process.stdout)' ${run.join("socket")}`;
        expect(await outside(`${process.execPath} ${knock}`)).toBe("REACHED");
        const script = `/tmp/node ${knock}; /tmp/node -p '"knocked"'; ls /run/*; (: > /run/x) && echo written`;
        const heard = await inside(temp.path, script, { readable: [[process.execPath, "/tmp/node"]] });
        expect(heard).toContain("knocked");
        expect(heard).not.toMatch(/REACHED|socket|written/);
      } finally {
        server.close();
        await once(server, "close");
      }
    },
  );

  it("hides the machine's files in /tmp, /dev and /dev/shm", async () => {
    using temp = new TempDir();
    using tmp = new TempDir("/tmp");
    using shm = new TempDir("/dev/shm");
    // Only root can put something beside the devices.
    using dev = new TempDir(isRoot ? "/dev" : "/dev/shm");
    if (!isRoot) leaveOut("a file in /dev", "only root can make one");
    const planted = [tmp, shm, dev].map(({ path }) => join(path, "planted"));
    for (const path of planted) writeFileSync(path, "PLANTED");
    const look = `cat ${planted.join(" ")} 2>/dev/null; echo looked`;
    expect(await outside(look)).toBe("PLANTEDPLANTEDPLANTEDlooked");
    expect(await inside(temp.path, look)).toBe("looked");
  });

  it("shows a hidden directory empty and read-only, even if another option names a part of it", async () => {
    using temp = new TempDir();
    for (const dir of ["tree", "home/inner"]) mkdirSync(temp.join(dir), { recursive: true });
    for (const name of ["home/secret", "home/inner/secret"]) writeFileSync(temp.join(name), "PLANTED");
    giveAway(temp.path);
    const [home, inner, tree] = [temp.join("home"), temp.join("home/inner"), temp.join("tree")];
    const look = `cat ${home}/secret ${inner}/secret 2>/dev/null; (: > ${home}/x) 2>/dev/null && echo written; echo looked`;
    const view = { tree, at: tree, hidden: [home], borrowed: [temp.path, inner] };
    expect(await inside(tree, look, view)).toBe("looked");
    expect(await outside(look)).toBe("PLANTEDPLANTEDwritten\nlooked");
  });

  it("sandbox-2 makes a directory empty and read-only that is covered among the tools", async () => {
    using temp = new TempDir();
    for (const dir of ["tree", "tools/private"]) mkdirSync(temp.join(dir), { recursive: true });
    const [tree, read, covered] = ["tree", "tools", "tools/private"].map((dir) => temp.join(dir));
    writeFileSync(join(covered ?? "", "secret"), "PLANTED");
    const tools = { ...noTools, read: [read ?? ""], covered: [covered ?? ""] };
    // An ordinary user owns the empty directory, and could write into it.
    const look = `ls -A ${covered}; grep ' ${covered} ' /proc/self/mounts | cut -d ' ' -f 4 | cut -d , -f 1`;
    expect(await inside(tree ?? "", look, { tools })).toBe("ro");
  });

  it("sandbox-2 makes lent directories read-only, and the capsule's files too where that is asked for", async () => {
    using temp = new TempDir();
    for (const dir of ["tree", "borrowed", "readable", "writable"]) mkdirSync(temp.join(dir));
    const dirs = ["borrowed", "readable", "writable", "tree"].map((dir) => temp.join(dir));
    const script = `for dir in ${dirs.join(" ")}; do (: > $dir/x) 2>/dev/null && basename $dir; done; true`;
    const view = {
      borrowed: [temp.join("borrowed")],
      readable: [[temp.join("readable"), temp.join("readable")]] as const,
      writable: [temp.join("writable")],
    };
    expect(await inside(temp.join("tree"), script, view)).toBe("writable\ntree");
    expect(await inside(temp.join("tree"), script, { ...view, isReadOnly: true })).toBe("writable");
  });

  it("has namespaces of its own, and no access to the machine's shared memory", async () => {
    using temp = new TempDir();
    for (const name of ["pid", "ipc", "uts", "mnt"]) {
      const seen = await inside(temp.path, `readlink /proc/self/ns/${name}`);
      expect(seen).toMatch(new RegExp(`^${name}:\\[\\d+\\]$`));
      expect(seen).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    }
    if (!findProgram("ipcmk")) return leaveOut("shared memory", "ipcmk is not installed");
    const id = /\d+/.exec(await outside("ipcmk -M 4096"))?.[0] ?? "";
    try {
      expect(await outside(`ipcs -m -i ${id}`)).toContain(`shmid=${id}`);
      expect(await inside(temp.path, `ipcs -m -i ${id}`)).not.toContain("shmid=");
    } finally {
      spawnSync("ipcrm", ["-m", id]);
    }
  });

  it("sandbox-3 has only a loopback of its own, and can't reach a port on the machine's", async () => {
    using temp = new TempDir();
    const server = createServer((socket) => socket.end("REACHED")).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const { port } = server.address() as AddressInfo;
      const knock = `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:${port}"); print $s ? <$s> : "nothing"'`;
      expect(await outside(knock)).toBe("REACHED");
      const heard = await inside(temp.path, `${knock}; echo; cat /proc/net/dev`);
      expect(heard).toMatch(/^nothing$/m);
      expect([...heard.matchAll(/^ *(\w+): /gm)].map(([, name]) => name)).toEqual(["lo"]);
    } finally {
      server.close();
      await once(server, "close");
    }
  });

  it("hides the machine's processes", async () => {
    using temp = new TempDir();
    const marker = `PLANTED-${process.pid}`;
    const child = spawn("sh", ["-c", "echo begun; read -r line", marker], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    try {
      const look = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '";
      expect(await outside(look)).toContain(marker);
      expect(await inside(temp.path, `: looked; ${look}`)).toMatch(/^(?!.*PLANTED).*looked/s);
    } finally {
      child.stdin.end();
      await once(child, "close");
    }
  });

  it("sandbox-2 takes all power from root: it can neither mount nor read another user's file", async () => {
    using temp = new TempDir();
    writeFileSync(temp.join("closed"), "PLANTED", { mode: 0o600 });
    if (isRoot) chownSync(temp.join("closed"), NOBODY, NOBODY);
    else leaveOut("a file of another user's", "only root can make one");
    const mount = "mount -t tmpfs none /mnt && echo mounted; grep ^Cap /proc/self/status";
    const heard = await inside(temp.path, isRoot ? `${mount}; cat closed` : mount);
    expect(heard).not.toMatch(/PLANTED|mounted/);
    for (const set of ["CapPrm", "CapEff"]) expect(heard).toMatch(new RegExp(`^${set}:\\s+0{16}$`, "m"));
  });

  const trigger = "/proc/sysrq-trigger";
  if (!existsSync(trigger)) leaveOut("the kernel's trigger", "this kernel has none");
  it.skipIf(!existsSync(trigger))(
    "sandbox-2 puts /dev/null in the place of /proc/sysrq-trigger",
    async () => {
      using temp = new TempDir();
      const what = `stat -c '%F %t:%T' ${trigger}`;
      expect(await outside(what)).toMatch(/^regular/);
      expect(await inside(temp.path, what)).toBe("character special file 1:3");
    },
  );

  if (!findProgram("script")) leaveOut("the terminal of the calling process", "script is not installed");
  it.skipIf(!findProgram("script"))("gives no access to the terminal of the calling process", async () => {
    using temp = new TempDir();
    const reach = "(: < /dev/tty) 2>/dev/null && echo reached; echo tried";
    const command = ["sh", "-c", reach];
    const inTerminal = ({ argv, ...more }: { readonly argv: readonly string[] }) =>
      said(["script", "-qec", argv.map(quoted).join(" "), "/dev/null"], more);
    expect(await inTerminal({ argv: command })).toMatch(/^reached\s+tried$/);
    giveAway(temp.path);
    const entry = { enter: [], hasNetwork: false };
    const sandbox = plainSandbox(temp.path, taskUser("/"));
    expect(await inTerminal(launch(sandbox, { command, tree: temp.path, entry, env }))).toBe("tried");
  });
});
