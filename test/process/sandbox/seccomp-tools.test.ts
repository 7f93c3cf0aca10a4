/**
 * Programs that have to work under the filter: each does some real work, mostly with processes or threads,
 * and prints 42.
 */
import { spawnSync } from "node:child_process";
import { chownSync, closeSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSeccomp } from "../../../src/process/sandbox/seccomp.ts";
import { hasSandbox } from "../../support/capsules.ts";
import { filtered, withView } from "../../support/filter.ts";
import { TempDir } from "../../support/home.ts";
import { asNobody, NOBODY, whyNotNobody } from "../../support/nobody.ts";

const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
const why = hasSandbox ? whyNotNobody : "bubblewrap is not installed";
if (why) leaveOut("programs under the filter", why);

const WORKER = `
  const { Worker, isMainThread, parentPort } = require("node:worker_threads");
  if (!isMainThread) parentPort.postMessage(20);
  else Promise.all([1, 2].map(() => new Promise((got) => new Worker(__filename).once("message", got)))).then(([a, b]) => {
    require("node:os").networkInterfaces();
    const { stdout } = require("node:child_process").spawnSync(process.execPath, ["-p", "2"]);
    console.log(a + b + Number(stdout));
  });
`;
const POOL = `
import multiprocessing, threading, socket
if __name__ == "__main__":
    threads = [threading.Thread(target=lambda: None) for _ in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    socket.getaddrinfo("127.0.0.1", 80)
    with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, [-20, -22])))
`;
const THREADS = `
#include <pthread.h>
#include <stdio.h>
static void *half(void *unused) { return (void *)21; }
int main(void) {
  pthread_t ids[2]; long sum = 0; void *got;
  for (int i = 0; i < 2; i++) if (pthread_create(&ids[i], 0, half, 0)) return 1;
  for (int i = 0; i < 2; i++) { pthread_join(ids[i], &got); sum += (long)got; }
  printf("%ld\\n", sum);
}
`;
const GO = `
package main
import ("fmt"; "net")
func main() { c := make(chan int); for i := 0; i < 2; i++ { go func() { c <- 21 }() }; net.InterfaceAddrs(); fmt.Println(<-c + <-c) }
`;
const RUST = `
fn main() { let t: Vec<_> = (0..2).map(|_| std::thread::spawn(|| 21)).collect();
  let s: i32 = t.into_iter().map(|t| t.join().unwrap()).sum();
  std::process::Command::new("true").status().unwrap(); println!("{s}"); }
`;
const JAVA = `
public class Main { public static void main(String[] a) throws Exception {
  int[] sum = new int[2]; Thread[] t = new Thread[2];
  for (int i = 0; i < 2; i++) { int at = i; t[i] = new Thread(() -> sum[at] = 21); t[i].start(); }
  for (Thread one : t) one.join();
  new ProcessBuilder("true").start().waitFor(); System.out.println(sum[0] + sum[1]); } }
`;

interface Tool {
  /** The name under which PATH has it. */
  readonly program: string;
  readonly files?: Readonly<Record<string, string>>;
  /** The last line of its output has to be 42. */
  readonly script: string;
}

const tools: readonly Tool[] = [
  {
    program: "git",
    script:
      "git init -q --shared=group repo && cd repo && echo 42 > file && git add . && git -c user.name=a -c user.email=a@b commit -qm first && git clone -q . ../other && git gc -q && cat ../other/file",
  },
  { program: "node", files: { "worker.cjs": WORKER }, script: `'${process.execPath}' worker.cjs` },
  { program: "python3", files: { "pool.py": POOL }, script: "python3 pool.py" },
  {
    program: "gcc",
    files: { "threads.c": THREADS },
    script: "gcc -pthread threads.c -o threads && ./threads",
  },
  { program: "go", files: { "main.go": GO }, script: "GOCACHE=$PWD/cache go run main.go" },
  { program: "rustc", files: { "main.rs": RUST }, script: "rustc main.rs && ./main" },
  { program: "java", files: { "Main.java": JAVA }, script: "java Main.java" },
  {
    program: "initdb",
    script:
      "initdb -NA trust -U me -D data >/dev/null && pg_ctl -sw -D data -o \"-F -k $PWD -h ''\" -l log start && psql -h $PWD -U me -d postgres -Atc 'select 42'; got=$?; pg_ctl -sD data -m immediate stop; exit $got",
  },
  {
    program: "gdb",
    script: "gdb -q -batch -ex run -ex 'p $_exitcode' --args sh -c 'exit 42' | sed -n 's/^.1 = //p'",
  },
];

/** Without the directories of root, which an ordinary user can't read. */
const searched = (process.env["PATH"] ?? "").split(":").filter((dir) => !dir.startsWith("/root"));

describe.skipIf(why)("under the filter", () => {
  for (const { program, files = {}, script } of tools) {
    const isThere = program === "node" || searched.some((dir) => existsSync(join(dir, program)));
    if (!isThere) leaveOut(`${program} under the filter`, "it is not installed for all users");
    it.skipIf(!isThere)(`${program} works`, () => {
      using temp = new TempDir(realpathSync(tmpdir()));
      const dir = temp.join("work");
      mkdirSync(dir);
      for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
      if (asNobody.length > 0) for (const path of [temp.path, dir]) chownSync(path, NOBODY, NOBODY);
      const fd = openSeccomp();
      const argv = [
        ...[...asNobody, "bwrap", ...withView("--bind"), "--unshare-user"],
        ...[...filtered, "--", "sh", "-c", script],
      ];
      const PATH = [dirname(process.execPath), ...searched].join(":");
      try {
        const { stdout, stderr } = spawnSync(argv[0] ?? "", argv.slice(1), {
          cwd: dir,
          env: { PATH, HOME: dir, LC_ALL: "C", TMPDIR: dir },
          stdio: ["ignore", "pipe", "pipe", fd],
          encoding: "utf8",
          timeout: 100_000,
        });
        expect(`${stderr}${stdout}`.trim().split("\n").at(-1)).toBe("42");
      } finally {
        closeSync(fd);
      }
    });
  }
});
