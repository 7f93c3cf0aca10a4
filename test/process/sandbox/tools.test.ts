/**
 * Which parts of a user's home a task sees. The homes are made here, each as the real tools would leave it.
 */
import { chmodSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../../support/capsules.ts";
import { saidUnderRoot } from "../../support/shown.ts";
import { UserHome } from "../../support/user-home.ts";

describe("the user's tools in a sandbox", () => {
  it("a directory on PATH is shown with the installation that it belongs to", () => {
    using home = new UserHome();
    home.file("node-24/bin/node");
    home.file("node-24/lib/node_modules/npm/cli.js");
    home.file(".opencode/bin/opencode");
    home.file("project/node_modules/.bin/tsc");
    home.file("scripts/bin/mine");
    home.file("scripts/diary.txt", "mine");
    home.file("bin/own");
    home.file(".local/bin/other");
    const path = [
      "node-24/bin",
      ".opencode/bin",
      "project/node_modules/.bin",
      "scripts/bin",
      "bin",
      ".local/bin",
    ];
    expect(home.tools(path).read).toEqual(
      ["node-24", ".opencode", "project/node_modules", "scripts/bin", "bin", ".local/bin"].map((dir) =>
        home.at(dir),
      ),
    );
  });

  it("a link on PATH shows the package that it leads to, and nothing beside it", () => {
    using home = new UserHome();
    home.file(".local/share/claude/versions/2.1.0");
    home.link(".local/bin/claude", home.at(".local/share/claude/versions/2.1.0"));
    home.file(".local/share/pipx/venvs/black/bin/black");
    home.file(".local/share/pipx/venvs/black/lib/python/black.py");
    home.link(".local/bin/black", "../share/pipx/venvs/black/bin/black");
    home.file("apps/lib/node_modules/codex/bin/codex.js");
    home.link(".local/bin/codex", home.at("apps/lib/node_modules/codex/bin/codex.js"));
    home.file("Downloads/tool.AppImage");
    home.file("Downloads/letter.pdf");
    home.link(".local/bin/tool", home.at("Downloads/tool.AppImage"));
    home.link(".local/bin/gone", home.at("nowhere"));
    home.link(".local/bin/round", "round");
    const tools = home.tools([".local/bin"]);
    const expected = [
      ".local/bin",
      ".local/share/claude",
      ".local/share/pipx",
      "apps/lib/node_modules",
      "Downloads/tool.AppImage",
    ];
    expect([...tools.read].sort()).toEqual(expected.map((path) => home.at(path)).sort());
    if (hasSandbox) expect(saidUnderRoot("claude; black; codex; tool", tools)).toBe("ran\nran\nran\nran");
  });

  it("links that PATH itself goes through exist in the sandbox too", () => {
    using home = new UserHome();
    home.file("store/v20/installation/bin/node");
    home.file("store/v20/installation/lib/x");
    home.link("multishells/1", home.at("store/v20/installation"));
    home.link("current", "store/v20");
    const tools = home.tools(["multishells/1/bin", "current/installation/bin"]);
    expect(tools.read).toEqual([home.at("store/v20/installation")]);
    expect(tools.links).toEqual([
      [home.at("store/v20/installation"), home.at("multishells/1")],
      ["store/v20", home.at("current")],
    ]);
    const said = `${home.at("multishells/1/bin/node")}; ${home.at("current/installation/bin/node")}; node`;
    if (hasSandbox) expect(saidUnderRoot(said, tools)).toBe("ran\nran\nran");
  });

  it("a tool's variable names its directory, as the user set it or at its usual place in the home", () => {
    using home = new UserHome();
    for (const place of [".cargo", ".rustup", ".nvm", "py", "go/pkg/mod", ".bun"]) home.file(`${place}/file`);
    const { env, read } = home.tools([], { env: { PYENV_ROOT: home.at("py"), CARGO_HOME: home.at("gone") } });
    expect(env).toMatchObject({
      RUSTUP_HOME: home.at(".rustup"),
      NVM_DIR: home.at(".nvm"),
      PYENV_ROOT: home.at("py"),
      GOMODCACHE: home.at("go/pkg/mod"),
    });
    expect(Object.keys(env)).not.toEqual(expect.arrayContaining(["CARGO_HOME"]));
    expect(Object.keys(env)).not.toEqual(expect.arrayContaining(["BUN_INSTALL"]));
    expect([...read].sort()).toEqual(
      [".bun", ".nvm", ".rustup", "go/pkg/mod", "py"].map((dir) => home.at(dir)).sort(),
    );
  });

  it("versions that a tool links to are shown where they are, unless that place is private", () => {
    using home = new UserHome();
    home.file("build/rust/bin/rustc");
    home.file(".ssh/bin/rustc");
    home.link(".rustup/toolchains/own", home.at("build/rust"));
    home.link(".rustup/toolchains/bad", home.at(".ssh"));
    home.link(".rustup/toolchains/worse", home.dir);
    expect([...home.tools([]).read].sort()).toEqual([".rustup", "build/rust"].map((dir) => home.at(dir)));
  });

  it("a tool that may fetch packages keeps them in the session's HOME, not in the user's cache", () => {
    using home = new UserHome();
    home.file(".cargo/bin/cargo");
    home.file("go/pkg/mod/cache/download/x");
    const { env } = home.tools([".cargo/bin"], { reaches: () => true });
    expect(env["CARGO_HOME"]).toBeUndefined();
    expect(env["GOMODCACHE"]).toBeUndefined();
    expect(env["GOPROXY"]).toBe(
      `file://${home.at("go/pkg/mod")}/cache/download,https://proxy.golang.org,direct`,
    );
  });

  it("directories in the checkout are left to the capsule, and variables still lead to them", () => {
    using home = new UserHome();
    home.file("repo/.venv/bin/python");
    home.file("repo/.venv/lib/x");
    const env = { VIRTUAL_ENV: home.at("repo/.venv") };
    const tools = home.tools(["repo/.venv/bin"], { env, checkout: home.at("repo") });
    expect(tools.read).toEqual([]);
    expect(tools.env["VIRTUAL_ENV"]).toBe(env.VIRTUAL_ENV);
  });

  it("PATH is the user's own, with each directory once", () => {
    using home = new UserHome();
    const { env } = home.tools([home.at("a"), "/nowhere", home.at("a")]);
    expect(env["PATH"]).toBe(`${home.at("a")}:/nowhere:/usr/bin:/bin`);
    expect(home.tools([], { env: { PATH: "" } }).env["PATH"]).toBe("/usr/local/bin:/usr/bin:/bin");
  });

  it("odd directories, links and paths cause no failure", () => {
    using home = new UserHome();
    home.file("file");
    home.link("loop", "loop");
    home.link("round/a", "b");
    home.link("round/b", "a");
    mkdirSync(home.at("locked/bin"), { recursive: true });
    chmodSync(home.at("locked"), 0o000);
    const path = ["file", "loop", "round/a/bin", "locked/bin", "gone", "", ".", "./relative", "~/bin"];
    const read = ["", "~other/x", "relative", "~/loop", "~/file/x", "\0", "~/locked/bin"];
    expect(() => home.tools(path, { read, env: { CARGO_HOME: "\0", GOPATH: ":" } })).not.toThrow();
    chmodSync(home.at("locked"), 0o755);
  });
});
