/**
 * What npm would publish, installed in an empty folder: it is small and installs without a warning, the
 * command works and gives the tour, the library can be imported, and its types are found.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TempDir } from "../support/home.ts";

const root = join(import.meta.dirname, "..", "..");

describe("the package", () => {
  it("gives a working command, library, types and tour when it is installed in an empty folder", {
    timeout: 300_000,
  }, () => {
    using dir = new TempDir();
    const env = { ...process.env, HOLDFAST_HOME: dir.join("home") };
    // npm test has made the build. Packing must not make it again while other tests use it.
    execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", dir.path], {
      cwd: root,
      stdio: "pipe",
    });
    const tarball = readdirSync(dir.path).find((name) => name.endsWith(".tgz")) ?? "";
    const app = dir.join("app");
    mkdirSync(app);
    writeFileSync(join(app, "package.json"), '{ "private": true, "type": "module" }');
    const install = ["install", "--no-audit", "--no-fund", join(dir.path, tarball)];
    const { status, stderr } = spawnSync("npm", install, { cwd: app, encoding: "utf8" });
    // npm also warns of settings of this machine that it does not know.
    const warnings = stderr
      .split("\n")
      .filter((line) => /warn/i.test(line) && !/^npm warn Unknown/.test(line));
    expect({ status, warnings }).toEqual({ status: 0, warnings: [] });
    expect(megabytesBelow(join(app, "node_modules"))).toBeLessThan(40);

    const command = join(app, "node_modules", ".bin", "holdfast");
    const { id } = JSON.parse(
      execFileSync(command, ["new", "--title", "packed", "--json"], { env, encoding: "utf8" }),
    );
    expect(execFileSync(command, ["ls"], { env, encoding: "utf8" })).toContain("packed");
    expect(existsSync(join(app, "node_modules", "holdfast", "dist", "cli", "THIRD_PARTY_LICENSES.txt"))).toBe(
      true,
    );

    const readme = readFileSync(join(app, "node_modules", "holdfast", "README.md"), "utf8");
    const links = [...readme.matchAll(/\]\((?!https:|#)([^)#]+)/g)].map(([, target = ""]) => target);
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((target) => !existsSync(join(app, "node_modules", "holdfast", target)))).toEqual([]);

    const program = join(app, "program.ts");
    writeFileSync(
      program,
      `import { openHoldfast, type OwnedSession } from "holdfast";
import { type Script, startScriptedModel } from "holdfast/testing";
const script: Script = [{ say: "hello", call: { bash: { command: "ls" } }, fault: "error", status: 529 }];
await using model = await startScriptedModel({ scripts: { script } });
await fetch(model.url);
const hf = await openHoldfast();
const session: OwnedSession = await hf.resumeSession(${JSON.stringify(id)});
const turns: number = session.turns;
await session.pause();
const { title } = await (await hf.session(session.id)).view();
console.log(JSON.stringify({ title, turns, requests: model.requests.length }));
`,
    );
    const output = execFileSync(process.execPath, [program], { cwd: app, env, encoding: "utf8" });
    expect(JSON.parse(output)).toEqual({ title: "packed", turns: 0, requests: 1 });
    const tsc = [
      join(root, "node_modules", "typescript", "bin", "tsc"),
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--lib",
      "es2024,esnext.disposable",
      "--types",
      "node",
      "--typeRoots",
      join(root, "node_modules", "@types"),
      "--skipLibCheck",
      "false",
      program,
    ];
    execFileSync(process.execPath, tsc, { cwd: app, stdio: "pipe" });

    // The tour needs no key and no server, and leaves nothing behind.
    mkdirSync(dir.join("tmp"));
    const tour = spawnSync("npx", ["--no-install", "holdfast", "demo"], {
      cwd: app,
      env: { ...env, TMPDIR: dir.join("tmp"), NO_COLOR: "1", npm_config_loglevel: "error" },
      encoding: "utf8",
    });
    expect(tour).toMatchObject({ status: 0, stderr: "" });
    for (const words of [
      "interrupted",
      "outcome is unknown",
      "[redacted:github]",
      "fix the login timeout, step 1",
      "git status: clean",
      "there is no session",
      "whole",
    ])
      expect(tour.stdout).toContain(words);
    expect(tour.stdout).not.toContain("damaged");
    // npm keeps its own compiled code there.
    expect(readdirSync(dir.join("tmp")).filter((name) => name !== "node-compile-cache")).toEqual([]);
  });

  it("is small, builds nothing native, and contains no path of this machine", () => {
    using dir = new TempDir();
    const listed = execFileSync(
      "npm",
      ["pack", "--ignore-scripts", "--json", "--pack-destination", dir.path],
      { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
    );
    const parsed = JSON.parse(listed);
    const [pack] = Array.isArray(parsed) ? parsed : Object.values(parsed);
    expect(pack.unpackedSize).toBeLessThan(9_000_000);
    const files: string[] = pack.files.map(({ path }: { path: string }) => path);
    for (const page of ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "docs/guide.md"])
      expect(files).toContain(page);
    expect(files.filter((path) => /\.(node|test\.\w+)$|^(src|test|bench)\//.test(path))).toEqual([]);
    for (const path of files)
      expect(readFileSync(join(root, path), "latin1").includes(root), path).toBe(false);
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of Object.keys(dependencies)) {
      const { gypfile, scripts = {} } = JSON.parse(
        readFileSync(join(root, "node_modules", name, "package.json"), "utf8"),
      );
      expect(gypfile ?? scripts.install ?? scripts.postinstall, name).toBeUndefined();
    }
  });
});

function megabytesBelow(dir: string): number {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6;
}
