/**
 * What a task does not see of a user's home: credentials that the user did not name, and, whatever the user
 * names, sockets, Holdfast homes and the home itself.
 */
import { accessSync, constants } from "node:fs";
import { createServer } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRIVATE_PLACES } from "../../../src/process/sandbox/credentials.ts";
import { isWithin } from "../../../src/util/index.ts";
import { hasSandbox } from "../../support/capsules.ts";
import { saidUnderRoot } from "../../support/shown.ts";
import { UserHome } from "../../support/user-home.ts";

const canWriteOpt = canWrite("/opt");
if (!canWriteOpt) console.log("left out: a home that stands in the root: this user can make none");

function canWrite(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe("the view of a user's home", () => {
  it("view-2 never shows the home itself, the root or the sandbox's own directories, even if named", () => {
    using home = new UserHome();
    home.file("bin/x");
    const own = [
      "~",
      "~/",
      home.dir,
      home.path,
      "/",
      "/tmp",
      "/etc",
      "/proc",
      "/proc/1",
      "/dev",
      "/run",
      "/var",
    ];
    const { read, refused } = home.tools([home.dir, home.path, "/", "/proc/self"], { read: own });
    expect(read).toEqual([]);
    expect(refused.map(([path]) => path)).toEqual(own);
  });

  it("view-2 never shows a Holdfast home or a part of one, whether PATH leads there or the user names it", () => {
    using home = new UserHome();
    for (const dir of ["hf", "tools/other"]) {
      home.file(`${dir}/home.json`);
      home.file(`${dir}/sessions/s/token`);
      home.file(`${dir}/bin/x`);
      home.file(`${dir}/lib/x`);
    }
    home.file("tools/bin/tool");
    home.file("tools/lib/x");
    home.file("run/door/bin/x");
    home.link("way", home.at("hf/sessions"));
    const named = ["~/hf", "~/hf/bin", "~/way", "~/tools/other/sessions/s", "~/run", "~/run/door/bin"];
    const path = ["hf/bin", "tools/other/bin", "tools/bin"];
    const tools = home.tools(path, { read: named, apart: [home.at("hf"), home.at("run/door")] });
    expect(tools.refused.map(([one]) => one)).toEqual(named);
    expect(tools.read).toEqual([home.at("tools")]);
    expect(tools.covered).toEqual([home.at("tools/other")]);
  });

  it("view-2 shows credentials only if the user names them, not because PATH or a link leads there", () => {
    using home = new UserHome();
    home.file(".ssh/bin/x");
    home.file(".aws/config");
    home.file(".docker/cli/docker-x");
    home.file("tools/x");
    home.link("tools/link", home.at(".ssh/bin/x"));
    const path = [".ssh/bin", ".docker/cli", "tools"];
    expect(home.tools(path).read).toEqual([home.at("tools")]);
    expect(home.tools(path, { read: ["~/.aws/config"] }).read).toEqual([
      home.at(".aws/config"),
      home.at("tools"),
    ]);
  });

  it("view-2 empties places of credentials in a named directory, except for files that are named too", () => {
    using home = new UserHome();
    home.file(".config/gh/hosts.yml", "token");
    home.file(".config/gh/config.yml", "editor: vi");
    home.file(".config/gcloud/access", "token");
    home.file(".config/app/settings", "plain");
    const tools = home.tools([], { read: ["~/.config", "~/.config/gh/config.yml"] });
    expect([...tools.covered].sort()).toEqual([home.at(".config/gcloud"), home.at(".config/gh")]);
    const files = `cd ${home.at(".config")} && find . -type f | sort && cat gh/config.yml app/settings`;
    if (hasSandbox)
      expect(saidUnderRoot(files, tools)).toBe("./app/settings\n./gh/config.yml\neditor: viplain");
  });

  it("view-2 empties files with credentials in shown directories, but not harmless settings", () => {
    using home = new UserHome();
    const key = "-----BEGIN PRIVATE KEY-----\n";
    const secret = {
      ".cargo/credentials.toml": "token",
      ".cargo/credentials": "token",
      ".cargo/config.toml": "[registry]\ntoken = 'x'",
      "node/etc/npmrc": "//registry.npmjs.org/:_authToken=x",
      "node/.npmrc": "_auth = x",
      "node/auth.json": "{}",
      "node/ssl/server.key": key,
      "named/.env": "KEY=1",
      "named/deep/er/id_ed25519": key,
      "named/pip.conf": "index-url = https://me:pw@host/",
    };
    const plain = {
      "node/ssl/cacert.pem": "-----BEGIN CERTIFICATE-----",
      "node/lib/npmrc": "registry=http://localhost",
      "named/pip.conf.d": "",
      "named/gradle.properties": "org.gradle.daemon=false",
      "named/mine/.netrc": "said to be seen",
    };
    for (const [path, text] of Object.entries({ ...secret, ...plain })) home.file(path, text);
    home.file("node/bin/node");
    home.file(".cargo/bin/cargo");
    const tools = home.tools([".cargo/bin", "node/bin"], { read: ["~/named", "~/named/mine/.netrc"] });
    expect([...tools.covered].sort()).toEqual(
      Object.keys(secret)
        .map((path) => home.at(path))
        .sort(),
    );
    if (!hasSandbox) return;
    expect(
      saidUnderRoot(
        `cat ${Object.keys(secret)
          .map((path) => home.at(path))
          .join(" ")}`,
        tools,
      ),
    ).toBe("");
    expect(
      saidUnderRoot(
        `cat ${Object.keys(plain)
          .map((path) => home.at(path))
          .join(" ")}`,
        tools,
      ),
    ).toBe(Object.values(plain).join(""));
  });

  it("view-2 reports a place with too many directories to search, and still searches the others", () => {
    using home = new UserHome();
    for (let n = 0; n < 300; n += 1) home.file(`many/dir-${n}/x`);
    home.file("named/deep/er/.netrc", "password");
    home.file("named/src/.env", "KEY=1");
    home.file("named/.git/config", "url = https://me:pw@host/");
    home.file("lib/.env", "KEY=1");
    home.file("lib/mine/.env", "KEY=1");
    const { covered, unfinished } = home.tools([], { read: ["~/many", "~/named", "~/lib"] });
    const secret = [
      "lib/.env",
      "lib/mine/.env",
      "named/.git/config",
      "named/deep/er/.netrc",
      "named/src/.env",
    ];
    expect([...covered].sort()).toEqual(secret.map((path) => home.at(path)));
    expect(unfinished).toEqual([home.at("many")]);
  });

  it("view-2 covers whole directories when there are too many credentials to cover one by one", () => {
    using home = new UserHome();
    home.file("named/plain", "plain");
    for (let n = 0; n < 40; n += 1) home.file(`named/one/${n}.token`, "token");
    for (let n = 0; n < 100; n += 1) home.file(`named/many/${n}.token`, "token");
    for (let n = 0; n < 3; n += 1) home.file(`named/few-${n}/.env`, "token");
    const tools = home.tools([], { read: ["~/named"] });
    expect(tools.covered).toContain(home.at("named/many"));
    const found = `cd ${home.at("named")} && cat plain && find . -type f -size +0 ! -name plain`;
    if (hasSandbox) expect(saidUnderRoot(found, tools)).toBe("plain");
  });

  it.skipIf(!canWriteOpt)("view-2 keeps a home below /opt private, though /opt itself is shown", () => {
    using home = new UserHome("/opt");
    home.file(".ssh/id_rsa", "key");
    home.file("letter", "mine");
    home.file(".cargo/bin/cargo");
    home.file(".cargo/credentials.toml", "token");
    const tools = home.tools([".cargo/bin"]);
    expect(tools.read).toEqual([home.at(".cargo")]);
    const said = `cargo; cat ${home.at(".cargo/credentials.toml")}; cd ${home.dir} && find . ! -type d -size +0`;
    if (hasSandbox) expect(saidUnderRoot(said, tools)).toBe("ran\n./.cargo/bin/cargo");
  });

  it("view-2 hides sockets at any depth, even ones that the user names", async () => {
    using home = new UserHome();
    home.file("tools/bin/x");
    home.file("tools/lib/a/b/c/d/x");
    const deep = home.at("tools/lib/a/b/c/d/socket");
    const server = createServer().listen(deep);
    await new Promise((resolve) => server.once("listening", resolve));
    const tools = home.tools(["tools/bin"], { read: [deep] });
    expect(tools.covered).toEqual([deep]);
    expect(tools.refused).toHaveLength(1);
    server.close();
  });

  it("view-2 never shows what has to stay hidden, whatever PATH, variables and settings say", () => {
    using home = new UserHome();
    for (const place of [".ssh", ".config/gh", ".local/share/keyrings"]) home.file(`${place}/bin/x`);
    home.file("hf/home.json");
    home.file("hf/sessions/bin/x");
    home.link("l", ".");
    home.link(".config/m", "../hf");
    const names = [
      "l",
      ".ssh",
      "bin",
      "..",
      ".config",
      "gh",
      "m",
      "sessions",
      "hf",
      ".local",
      "share",
      "keyrings",
      ".",
    ];
    const paths = fc
      .array(fc.constantFrom(...names), { maxLength: 6 })
      .map((parts) => home.at(parts.join("/")));
    const isHidden = (path: string) =>
      isWithin(path, home.dir) || isWithin(home.at("hf"), path) || isWithin(path, home.at("hf"));
    fc.assert(
      fc.property(fc.array(paths, { maxLength: 4 }), fc.array(paths, { maxLength: 2 }), (path, read) => {
        const unnamed = home.tools(path, { env: { CARGO_HOME: path[0] } });
        const isPrivate = (one: string) => PRIVATE_PLACES.some((place) => isWithin(home.at(place), one));
        expect(unnamed.read.filter((one) => isHidden(one) || isPrivate(one))).toEqual([]);
        const named = home.tools(path, { read, apart: [home.at("hf")] });
        expect(named.read.filter(isHidden)).toEqual([]);
        // A cover outside of what is shown would be of no use.
        expect(named.covered.every((one) => named.read.some((dir) => isWithin(dir, one)))).toBe(true);
      }),
      { numRuns: 80 },
    );
  });
});
