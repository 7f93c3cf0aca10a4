/**
 * Real tools that take long, each once, as the user who runs the tests. Tools that this machine lacks are
 * reported.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, statfsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { memoryDir } from "../support/home.ts";
import { Person, self } from "../support/person.ts";
import { findPostgres, toolPath, wayTo } from "./toolbox.ts";

const rustup = join(process.env["CARGO_HOME"] || join(homedir(), ".cargo"), "bin", "rustup");
const toolchains = join(process.env["RUSTUP_HOME"] || join(homedir(), ".rustup"), "toolchains");
const stable = existsSync(toolchains)
  ? readdirSync(toolchains).find((name) => name.startsWith("stable"))
  : undefined;
const hasRust = stable !== undefined && existsSync(rustup);
const chromium = ["chromium", "chromium-browser", "google-chrome"]
  .map(wayTo)
  .find((path) => path !== undefined);
/** A program in the sandbox loads it by its path. Before `npm ci`, it may not be there. */
const playwright = join(import.meta.dirname, "..", "..", "node_modules", "playwright-core");
const postgres = findPostgres();

for (const [what, isMissing] of [
  ["rustup's own cargo", !hasRust],
  ["Chromium", chromium === undefined],
  ["playwright-core", !existsSync(playwright)],
  ["PostgreSQL", postgres === undefined],
] as const)
  if (isMissing) console.log(`left out: the test of ${what} in the sandbox: it is not installed`);

const FILES = 50_000;

/** Written to the repo only; the checkout does not need them. */
function commitMany(repo: string): void {
  const names = Array.from({ length: FILES }, (_, at) => `d${Math.floor(at / 500)}/f${at}`);
  const commit = "commit refs/heads/main\ncommitter Ani <ani@example.org> 1700000000 +0000\ndata 4\nmany";
  const files = names.map((name) => `M 644 inline ${name}\ndata 2\n.\n`);
  execFileSync("git", ["fast-import", "--quiet"], {
    cwd: repo,
    input: `${commit}\nfrom refs/heads/main^0\n${files.join("")}`,
  });
}

const MEMORY_BYTES = 2 * 1024 ** 3;

/** Whether there is room in memory, where so many files are made and removed in a fraction of the time. */
function hasMemory(): boolean {
  const { bavail, bsize } = statfsSync(memoryDir);
  return bavail * bsize >= MEMORY_BYTES;
}

describe.skipIf(!hasSandbox)("in the sandbox", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("git reads none of 50,000 files again, because all of them match the index", async () => {
    if (hasMemory()) vi.stubEnv("TMPDIR", memoryDir);
    using person = new Person(self);
    commitMany(person.main);
    person.settleIn();
    // diff-files does not read files: it lists those whose times, owner or inode differ from the index.
    const said = await person.run(
      "git ls-files | wc -l; git diff-files | wc -l; git status --short; echo x > d7/f3500; git status --short",
    );
    expect(said).toMatch(/^500\d\d\n0\n M d7\/f3500$/);
  });

  it.skipIf(!hasRust)(
    "rustup's own cargo builds and runs a crate with the toolchain that a link leads to",
    async () => {
      using person = new Person(
        self,
        {
          "Cargo.toml": '[package]\nname = "one"\nversion = "1.0.0"\n',
          "src/main.rs": 'fn main() { println!("ran"); }\n',
        },
        toolPath,
      );
      mkdirSync(person.user.at(".cargo/bin"), { recursive: true });
      copyFileSync(rustup, person.user.at(".cargo/bin/rustup"));
      person.user.link(".cargo/bin/cargo", "rustup");
      person.user.link(".cargo/bin/rustc", "rustup");
      mkdirSync(person.user.at(".rustup/update-hashes"), { recursive: true });
      person.user.file(".rustup/settings.toml", `version = "12"\ndefault_toolchain = "${stable}"\n`);
      person.user.link(`.rustup/toolchains/${stable}`, join(toolchains, stable ?? ""));
      person.settleIn();
      expect(
        await person.run(
          "cargo run --offline --quiet && cargo test --offline --quiet | grep -o 'test result: ok' | head -n 1",
        ),
      ).toBe("ran\ntest result: ok");
    },
  );

  it.skipIf(chromium === undefined)("Chromium without its own sandbox renders a page", async () => {
    using person = new Person(self, { "page.html": "<body><script>document.body.append(6 * 7)</script>" });
    person.settleIn();
    const said = await person.run(
      `${chromium} --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/page.html" 2>/dev/null`,
    );
    expect(said).toContain("42</body>");
  });

  it.skipIf(chromium === undefined || !existsSync(playwright))(
    "Chromium renders a page and takes a screenshot through playwright-core",
    async () => {
      using person = new Person(self, {
        "page.mjs": `import { createRequire } from "node:module";
const { chromium } = createRequire(import.meta.url)(process.argv[2]);
const browser = await chromium.launch({ executablePath: process.argv[3], chromiumSandbox: false });
const page = await browser.newPage();
await page.setContent("<h1>seen</h1>");
console.log(await page.textContent("h1"), (await page.screenshot()).length > 100);
await browser.close();
`,
      });
      mkdirSync(person.dir, { mode: 0o700 });
      person.settings(`sandbox: { read: [${playwright}] }\n`);
      person.settleIn();
      expect(await person.run(`node page.mjs ${playwright} ${chromium}`)).toBe("seen true");
    },
  );

  it.skipIf(postgres === undefined)(
    "PostgreSQL starts, and answers on a socket and on loopback",
    async () => {
      using person = new Person(self);
      person.settleIn();
      const said = await person.run(`PATH=$PATH:${postgres}; cd $TMPDIR
      initdb -N -A trust -D db >/dev/null && pg_ctl -D db -w -l log -o "-F -k $PWD -p 5999" start >/dev/null || cat log
      for host in $PWD 127.0.0.1; do psql -h $host -p 5999 -Atc 'select 6 * 7' postgres; done
      pg_ctl -D db -m fast stop >/dev/null`);
      expect(said).toBe("42\n42");
    },
  );
});
