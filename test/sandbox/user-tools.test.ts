/**
 * A task has the tools of the person who starts it, and those that their settings name.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { toolVariables } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { Person, self } from "../support/person.ts";

describe.skipIf(!hasSandbox)("a task", () => {
  it("has the tools that the person's PATH and variables lead to, wherever they are", async () => {
    using person = new Person(self, {}, ["odd/bin"]);
    person.user.file("odd/bin/tool", '#!/bin/sh\necho "$VOLTA_HOME has $(ls "$VOLTA_HOME")"\n');
    person.user.file("elsewhere/tools/one");
    Object.assign(person.env, { VOLTA_HOME: person.user.at("elsewhere"), CARGO_HOME: "no path, a secret" });
    person.settleIn();
    expect(await person.run("tool; env | grep -c CARGO_HOME || :")).toBe(
      `${person.user.at("elsewhere")} has tools\n0`,
    );
  });

  it("gets the variables for the user's packages, except for packages that it may fetch itself", async () => {
    using person = new Person(self);
    person.user.file(".cargo/registry/one");
    person.user.file(".rustup/settings.toml");
    person.settleIn();
    const script = ["--", "sh", "-c", 'echo "$CARGO_HOME $RUSTUP_HOME"'];
    const [cargo, rustup] = [".cargo", ".rustup"].map((dir) => person.user.at(dir));
    expect((await person.holdfast("run", ...script)).stdout).toBe(`${cargo} ${rustup}\n`);
    expect((await person.holdfast("run", "--host", "*.crates.io", ...script)).stdout).toBe(` ${rustup}\n`);
  });

  it("has a set-up that uses the user's packages, unless set-up may fetch them itself", async () => {
    using person = new Person(self, {
      ".gitignore": "told\n",
      "holdfast.yaml":
        'capsule: { setup: "echo $CARGO_HOME $GOMODCACHE > told" }\nsetup_hosts: ["*.crates.io", proxy.golang.org]\n',
    });
    person.user.file(".cargo/registry/one");
    person.user.file("go/pkg/mod/one");
    person.settleIn();
    const told = async (...options: string[]) =>
      (await person.holdfast("run", ...options, "--", "cat", "told")).stdout;
    const users = `${person.user.at(".cargo")} ${person.user.at("go/pkg/mod")}\n`;
    // These hosts are for the task only, not for its set-up.
    expect(await told("--host", "*.crates.io", "--host", "proxy.golang.org")).toBe(users);
    await person.holdfast("trust", "--yes");
    expect(await told()).toBe("\n");
  });

  it("sees what sandbox.read names, read-only, and doctor says what is not shown and why", async () => {
    using person = new Person(self);
    mkdirSync(person.dir, { mode: 0o700 });
    person.settings("sandbox:\n  read: [~/notes, ~/gone, ~/, /proc]\n");
    person.user.file("notes/of-mine", "read me\n");
    person.user.file("other/of-mine");
    person.settleIn();
    const notes = person.user.at("notes");
    expect(await person.run(`cat ${notes}/of-mine; ls ${person.user.dir}; (: > ${notes}/new) || :`)).toMatch(
      /^read me\nnotes\n.*Read-only file system$/,
    );
    const { stdout } = await person.holdfast("doctor");
    expect(stdout).toContain("sandbox.read: tasks don't see ~/gone: it does not exist");
    expect(stdout).toContain("sandbox.read: tasks don't see ~/: it contains all of your home");
    expect(stdout).toContain("sandbox.read: tasks don't see /proc: each sandbox has its own");
    expect(stdout).not.toContain("~/notes");
    writeFileSync(`${person.dir}/settings.yaml`, "sandbox: { read: [relative] }\n");
    expect((await person.holdfast("doctor")).stdout).toContain("must begin with / or ~/");
  });
});

describe("toolVariables", () => {
  it("keeps only variables of tools whose values are paths", () => {
    const env = {
      RUSTUP_HOME: "/r",
      GOPATH: "/go:/more",
      GEM_HOME: "gems",
      NPM_TOKEN: "/x",
      NVM_DIR: undefined,
    };
    expect(toolVariables(env)).toEqual({ RUSTUP_HOME: "/r", GOPATH: "/go:/more" });
  });
});
