/**
 * Ways out of a sandbox through files: paths, links, /proc, devices, bits that give rights. The planted files
 * belong to the task's own user, so that only the sandbox keeps them away.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Attempt, callOf, itHolds, type Lab, perl, perlCall } from "../support/attacks.ts";

const isRoot = process.getuid?.() === 0;
const GONE = /No such file|errno 2\b|not found/;
const READ_ONLY = /Read-only file system|errno 30\b/;
/** In a user namespace, the error may be that there is no such user (EINVAL). */
const NOT_PERMITTED = /Operation not permitted|errno (1|22)\b/;
const view = ["view"] as const;

const readable: Attempt[] = [
  { title: "an absolute path", script: 'cat "$PLANTED/secret"', says: GONE },
  { title: "a path with ..", script: "cat ../planted/secret", says: GONE },
  {
    title: "more .. than there are directories",
    script: 'cat "../../../../../../../..$PLANTED/secret"',
    says: GONE,
  },
  { title: "a symbolic link", script: 'ln -s "$PLANTED/secret" a; cat a', says: GONE },
  { title: "a link to a directory", script: 'ln -s "$PLANTED" b; cat b/secret', says: GONE },
  { title: "a link through /tmp", script: 'ln -s "$PWD/../planted" /tmp/c; cat /tmp/c/secret', says: GONE },
  { title: "/proc/self/cwd/..", script: "cat /proc/self/cwd/../planted/secret", says: GONE },
  { title: "/proc/self/root", script: 'cat "/proc/self/root$PLANTED/secret"', says: GONE },
  { title: "the working directory of every process", script: "cat /proc/[0-9]*/cwd/../planted/secret" },
  {
    title: "an open directory and openat",
    script: perl(
      'opendir(D, "..") or die; chdir(D); chdir("planted"); open(F, "secret") or die "$!"; print <F>',
    ),
    says: GONE,
  },
  { title: "a hard link", script: 'ln "$PLANTED/secret" hard && cat hard', says: GONE, without: undefined },
  {
    title: "a copy that shares blocks",
    script: 'cp --reflink=auto "$PLANTED/secret" copied && cat copied',
    says: GONE,
  },
  { title: "an SSH key of the user's", script: 'cat "$PLANTED/user/.ssh/id_ed25519"', says: GONE },
  { title: "a cloud's credentials", script: 'cat "$PLANTED/user/.aws/credentials"', says: GONE },
  { title: "a registry's token", script: 'cat "$PLANTED/user/.npmrc"', says: GONE },
  { title: "the user's environment file", script: 'cat "$PLANTED/user/.config/app/.env"', says: GONE },
  {
    title: "the operator's key",
    script: 'cat "$PLANTED/user/.holdfast/operator.key"',
    says: GONE,
  },
  {
    title: "another Holdfast home's token",
    script: 'cat "$PLANTED/other/sessions/sess_1/token"',
    says: GONE,
  },
  {
    title: "another Holdfast home's journal",
    script: 'cat "$PLANTED"/other/sessions/*/journal/*',
    says: GONE,
  },
].map((attempt) => ({ without: view, ...attempt }));

const speaking = (path: string) =>
  perl(
    `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or die; connect(S, sockaddr_un("${path}")) or die "$!"; print <S>`,
  ).replace('"$PLANTED', `"'"$PLANTED"'`);
const sockets: Attempt[] = [
  { title: "gpg's agent", script: speaking("$PLANTED/user/.gnupg/S.gpg-agent"), says: GONE, without: view },
  {
    title: "docker's socket in the home",
    script: speaking("$PLANTED/user/.docker/docker.sock"),
    says: GONE,
    without: view,
  },
];

const writing: Attempt[] = [
  {
    title: "making a file beside the checkout",
    script: 'echo x > "$PLANTED/made" && echo WON',
    without: view,
  },
  { title: "writing to a planted file", script: 'echo x >> "$PLANTED/log" && echo WON', without: view },
  {
    title: "a rename out of the checkout",
    script: 'echo x > own; mv own "$PLANTED/moved" && echo WON',
    without: view,
  },
  {
    title: "making a directory beside the checkout",
    script: "mkdir ../made && echo WON",
    says: READ_ONLY,
    without: ["read-only", "user"],
  },
  {
    title: "writing to the root",
    script: "mkdir /made && echo WON",
    says: READ_ONLY,
    without: ["read-only", "user"],
  },
  {
    title: "writing to /run",
    script: "mkdir /run/made && echo WON",
    says: READ_ONLY,
    without: ["read-only", "user"],
  },
  {
    title: "writing to /dev",
    script: "mkdir /dev/made && echo WON",
    says: READ_ONLY,
    without: ["read-only", "user"],
  },
  { title: "writing to /usr", script: "mkdir /usr/holdfast-made", says: READ_ONLY },
  { title: "writing to /etc", script: "echo x > /etc/holdfast-made", says: READ_ONLY },
  { title: "writing to /etc/passwd", script: "echo x >> /etc/passwd", says: /Read-only|Permission denied/ },
  { title: "writing to /var", script: "mkdir /var/made", says: READ_ONLY },
  {
    title: "changing a setting of the kernel",
    script: "echo 1 > /proc/sys/vm/overcommit_memory",
    says: /Read-only|Permission denied/,
  },
  {
    title: "changing the program that gets core files",
    script: "echo '|/tmp/x' > /proc/sys/kernel/core_pattern",
    says: /Read-only|Permission denied/,
  },
  {
    title: "registering a format of programs",
    script: "echo x > /proc/sys/fs/binfmt_misc/register",
    says: /Read-only|Permission denied|nonexistent|No such/,
  },
  {
    title: "switching a processor off",
    script: "echo 0 > /sys/devices/system/cpu/cpu1/online",
    says: /Read-only|Permission denied|nonexistent|No such/,
  },
  {
    title: "the kernel's sysrq trigger",
    script: "echo h > /proc/sysrq-trigger; stat -c %F /proc/sysrq-trigger",
    says: /character special|No such|nonexistent|cannot create/,
  },
];

const S_IFBLK = 0o60000;
const S_IFCHR = 0o20000;
const rights: Attempt[] = [
  { title: "the memory device", script: "head -c1 /dev/mem", says: GONE },
  { title: "the kernel's log device", script: "head -c1 /dev/kmsg", says: GONE },
  {
    title: "devices of disks",
    script: "ls /dev | grep -E '^(sd|vd|nvme|loop|dm-|mapper|fuse|kvm|net)' || echo none",
    wins: /\d|fuse|kvm/,
    says: /^none$/,
  },
  {
    title: "making a device of a disk",
    script: callOf("mknodat", -100, "/tmp/disk", S_IFBLK | 0o666, 0xfe00),
    says: NOT_PERMITTED,
    without: ["filter", "user"],
    controlAs: "root",
  },
  {
    title: "making a device of memory",
    script: callOf("mknodat", -100, "/tmp/memory", S_IFCHR | 0o666, 0x101),
    says: NOT_PERMITTED,
    without: ["filter", "user"],
    controlAs: "root",
  },
  {
    title: "making a whiteout of an overlay",
    script: callOf("mknodat", -100, "/tmp/whiteout", S_IFCHR, 0),
    says: NOT_PERMITTED,
    without: ["filter"],
  },
  {
    title: "setting a set-user-id bit",
    script: "cp /usr/bin/id own-id; chmod u+s own-id && echo WON",
    says: NOT_PERMITTED,
    without: ["filter"],
  },
  {
    title: "making a file with a set-user-id bit",
    script: callOf("openat", -100, "/tmp/born", 0o101, 0o4755),
    says: NOT_PERMITTED,
    without: ["filter"],
  },
  {
    title: "giving capabilities to a file",
    script: perlCall(
      process.arch === "arm64" ? 5 : 188,
      "/tmp",
      "security.capability",
      "\\0\\0\\0\\2\\xff\\xff\\xff\\xff\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0",
      20,
      0,
    ),
    says: /errno (1|95|30)\b/,
  },
  {
    title: "running a program with a set-user-id bit",
    script: "./planted-id",
    wins: /euid=0/,
    says: /^uid=\d+/,
  },
  {
    title: "gaining new privileges",
    script: "grep NoNewPrivs /proc/self/status",
    wins: /\b0$/,
    says: /\b1$/,
  },
  {
    title: "having capabilities",
    script: "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status",
    wins: /[1-9a-f]$/m,
    says: /0{16}$/m,
    without: ["user"],
  },
  {
    title: "becoming root",
    script: perl('$> = 0; $< = 0; print "WON $>" if $> == 0 || $< == 0; print "errno ", $! + 0'),
    says: NOT_PERMITTED,
    without: ["user"],
    controlAs: "root",
  },
  {
    title: "joining other groups",
    script: perl('$) = "0 0 1 2 3"; print $! + 0 ? "errno " . ($! + 0) : "WON"'),
    says: NOT_PERMITTED,
    without: ["user"],
    controlAs: "root",
  },
  { title: "the machine's passwords", script: "cat /etc/shadow", wins: /root:/ },
  { title: "the machine's accounts", script: "wc -l < /etc/passwd", wins: /\d\d/, says: /^[23]$/ },
  { title: "the machine-id", script: "cat /etc/machine-id", says: /^686f6c64/ },
];

async function plant(lab: Lab): Promise<AsyncDisposable> {
  const secrets = ["secret", "log", "user/.ssh/id_ed25519", "user/.aws/credentials", "user/.npmrc"];
  secrets.push("user/.config/app/.env", "user/.holdfast/operator.key", "other/home.json");
  secrets.push("other/sessions/sess_1/token", "other/sessions/sess_1/journal/1.jsonl");
  for (const path of secrets) {
    const parts = path.split("/").slice(0, -1);
    for (const [index] of parts.entries()) lab.makeDir(join(lab.planted, ...parts.slice(0, index + 1)));
    writeFileSync(join(lab.planted, path), "PLANTED\n", { mode: 0o644 });
    lab.give(join(lab.planted, path));
  }
  spawnSync("cp", ["/usr/bin/id", join(lab.files, "planted-id")]);
  if (isRoot) chmodSync(join(lab.files, "planted-id"), 0o4755);
  const servers = ["user/.gnupg/S.gpg-agent", "user/.docker/docker.sock"].map(async (path) => {
    mkdirSync(join(lab.planted, path, ".."), { recursive: true, mode: 0o755 });
    const server = createServer((socket) => socket.end("PLANTED"));
    server.listen(join(lab.planted, path));
    await once(server, "listening");
    chmodSync(join(lab.planted, path), 0o777);
    return server;
  });
  const listening = await Promise.all(servers);
  return {
    async [Symbol.asyncDispose]() {
      for (const server of listening) server.close();
      for (const left of ["/usr/holdfast-made", "/etc/holdfast-made"])
        if (existsSync(left)) rmSync(left, { recursive: true });
    },
  };
}

itHolds("escapes through files", [...readable, ...sockets, ...writing, ...rights], plant);
