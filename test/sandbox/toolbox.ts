/**
 * Tools that people use, each with a small piece of its real work, and the homes that version managers make.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Person } from "../support/person.ts";

export interface Tool {
  readonly name: string;
  /** Programs without which it is left out. */
  readonly needs: readonly string[];
  /** Makes what has to be in the person's home. */
  readonly make?: (person: Person) => void;
  readonly script: string;
  /** What both streams together have to match. */
  readonly says: RegExp;
}

/** On the person's PATH, before the system's. */
export const toolPath = [".local/bin", ".cargo/bin", ".pyenv/shims", ".pyenv/bin"];

/** A program that every user of the machine has. */
export function wayTo(program: string): string | undefined {
  const dirs = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
  return dirs.map((dir) => join(dir, program)).find((path) => existsSync(path));
}

/** The directory of PostgreSQL's programs, which Debian puts on no user's PATH. */
export function findPostgres(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const found = existsSync(versions) ? readdirSync(versions) : [];
  const initdb = found.map((version) => join(versions, version, "bin", "initdb"));
  const path = [wayTo("initdb") ?? "", ...initdb].find((one) => existsSync(one));
  return path && dirname(path);
}

const GREET_MOD = "module example.org/greet\n\ngo 1.18\n";
/** The hash of the downloaded module. Go compares it, and does not compute it again. */
const GREET_SUM = `h1:${Buffer.alloc(32, 7).toString("base64")}`;

/** As Go writes it: for a single file, the hash of a line that contains the hash of the file. */
function goSum(): string {
  const sha = (text: string) => createHash("sha256").update(text);
  const mod = sha(`${sha(GREET_MOD).digest("hex")}  go.mod\n`).digest("base64");
  return `example.org/greet v1.0.0 ${GREET_SUM}\nexample.org/greet v1.0.0/go.mod h1:${mod}\n`;
}

/** The repo: a program of each language, and a dependency that is installed before the task. */
export const project: Record<string, string> = {
  "holdfast.yaml":
    "capsule:\n  setup: npm install --offline --no-audit --no-fund --no-package-lock --install-links\n",
  ".gitignore": "node_modules\n",
  "package.json": JSON.stringify({
    name: "project",
    version: "1.0.0",
    type: "module",
    scripts: { test: "node --test --test-reporter=tap" },
    dependencies: { dep: "file:vendor/dep" },
  }),
  "vendor/dep/package.json":
    '{ "name": "dep", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
  "vendor/dep/index.js": "export const seven = 7;\n",
  "seven.test.js": 'import { seven } from "dep"; import test from "node:test"; test("seven", () => seven);\n',
  Makefile: "root: root.c\n\tgcc root.c -lm -o root\n",
  "root.c": '#include <math.h>\n#include <stdio.h>\nint main(int n) { printf("%.0f\\n", sqrt(48 + n)); }\n',
  "workers.mjs": `import { Worker } from "node:worker_threads";
import { createServer } from "node:http";
import { hostname } from "node:os";
import { lookup } from "node:dns/promises";
new Worker("console.log('a worker')", { eval: true });
const server = createServer((_, answer) => answer.end("answered")).listen(0, "localhost", async () => {
  const answer = await fetch("http://localhost:" + server.address().port);
  console.log(await answer.text(), (await lookup(hostname())).address);
  server.close();
});
`,
  "pool.py": `import multiprocessing, os
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
    queue = multiprocessing.get_context("spawn").Queue()
    queue.put("queued"); print(queue.get())
`,
  "go/go.mod": "module example.org/main\n\ngo 1.18\n\nrequire example.org/greet v1.0.0\n",
  "go/main.go": 'package main\n\nimport "example.org/greet"\n\nfunc main() { println(greet.Word) }\n',
  "go/go.sum": goSum(),
};

/** A cache with a module that was downloaded earlier. */
function makeModuleCache({ user }: Person): void {
  const download = "go/pkg/mod/cache/download/example.org/greet/@v/v1.0.0";
  user.file(`${download}.mod`, GREET_MOD);
  user.file(`${download}.info`, '{"Version":"v1.0.0"}');
  user.file(`${download}.ziphash`, GREET_SUM);
  user.file(`${download}.zip`, "not read again");
  user.file("go/pkg/mod/example.org/greet@v1.0.0/go.mod", GREET_MOD);
  user.file("go/pkg/mod/example.org/greet@v1.0.0/greet.go", 'package greet\n\nconst Word = "of the cache"\n');
}

/** As rustup lays it out: one program under all names, which starts the toolchain's program of that name. */
function makeRustup({ user }: Person): void {
  const proxy = [
    "#!/bin/sh",
    'toolchain=$(sed -n \'s/^default_toolchain = "\\(.*\\)"/\\1/p\' "$RUSTUP_HOME/settings.toml")',
    'exec "$RUSTUP_HOME/toolchains/$toolchain/bin/$(basename "$0")" "$@"',
  ];
  user.file(".cargo/bin/rustup", `${proxy.join("\n")}\n`);
  user.link(".cargo/bin/cargo", "rustup");
  user.file(".rustup/settings.toml", 'version = "12"\ndefault_toolchain = "stable-stand-in"\n');
  const cargo = 'echo "$0"; cat "$CARGO_HOME/config.toml" "$CARGO_HOME/credentials.toml"';
  user.file(".rustup/toolchains/stable-stand-in/bin/cargo", `#!/bin/sh\n${cargo}\n`);
  user.file(".cargo/config.toml", "[build]\n");
  user.file(".cargo/credentials.toml", "[registry]\ntoken = 'of the person'\n");
}

/** As pyenv lays it out: shims that contain the path of its root, and versions, one of them a link. */
function makePyenv({ user }: Person): void {
  const root = user.at(".pyenv");
  user.file(
    ".pyenv/shims/python3",
    `#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT="${root}"\nexec "${root}/libexec/pyenv" exec "\${0##*/}" "$@"\n`,
  );
  user.file(
    ".pyenv/libexec/pyenv",
    '#!/usr/bin/env bash\nset -e\nshift\nexec "$PYENV_ROOT/versions/$(cat "$PYENV_ROOT/version")/bin/$@"\n',
  );
  user.link(".pyenv/bin/pyenv", "../libexec/pyenv");
  user.file(".pyenv/version", "3.99\n");
  user.link(".pyenv/versions/3.99", user.at("pythons/3.99"));
  user.link("pythons/3.99/bin/python3", "/usr/bin/python3");
}

/** Which user the task is, and who owns its directories. */
export const identity: Tool = {
  name: "identity",
  needs: [],
  script: 'id -u; for dir in . "$HOME" "$TMPDIR"; do test -w "$dir" && test -O "$dir" && echo own; done',
  says: /^[1-9]\d*\nown\nown\nown$/,
};

export const light: readonly Tool[] = [
  {
    name: "npm test of a project with installed dependencies",
    needs: ["npm", "node"],
    script: "npm test",
    says: /# pass 1\n# fail 0/,
  },
  {
    name: "git: status, commit and log",
    needs: ["git"],
    script: "git status --short; git commit -q --allow-empty -m inside && git log -1 --format=%s",
    says: /^inside$/,
  },
  {
    name: "make and gcc",
    needs: ["make", "gcc"],
    script: "make -s root && ./root",
    says: /^7$/,
  },
  {
    name: "Node with workers, and a server on loopback",
    needs: ["node"],
    script: "node workers.mjs | sort",
    says: /^a worker\nanswered 127\.0\.\d\.1$/,
  },
  {
    name: "a socket in TMPDIR, with as long a name as Chromium's",
    needs: ["node"],
    script: `mkdir $TMPDIR/org.chromium.Chromium.Scoped.abcdef; node -e '
      require("net").createServer().listen(process.env.TMPDIR + "/org.chromium.Chromium.Scoped.abcdef/SingletonSocket",
        () => process.exit(console.log("listens")))'`,
    says: /^listens$/,
  },
  {
    name: "a shell in a terminal",
    needs: ["script"],
    script: "SHELL=/bin/sh script -qec 'test -t 0 && tty && stty rows 7 && stty size' /dev/null",
    says: /^\/dev\/pts\/\d+\s+7 \d+$/,
  },
  {
    name: "a rustup-managed cargo in the user's home, without the user's token",
    needs: [],
    make: makeRustup,
    script: "cargo",
    says: /\/user\/\.rustup\/toolchains\/stable-stand-in\/bin\/cargo\n\[build\]$/,
  },
  {
    name: "a pyenv-managed Python in the user's home",
    needs: ["python3", "bash"],
    make: makePyenv,
    script: 'type python3; python3 -c "import sys; print(sys.executable)"',
    says: /\.pyenv\/shims\/python3\n.*\/user\/\.pyenv\/versions\/3\.99\/bin\/python3$/,
  },
  {
    name: "Python: multiprocessing, and a virtual environment",
    needs: ["python3"],
    script: `python3 pool.py; python3 -m venv --without-pip $TMPDIR/v && $TMPDIR/v/bin/python -c "import sys; print(sys.prefix)"`,
    says: /^\[1, 2\]\nqueued\n\/tmp\/task-tmp\/v$/,
  },
  {
    name: "Go with a module cache",
    needs: ["go"],
    make: makeModuleCache,
    script: "cd go && go run .",
    says: /^of the cache$/,
  },
];
