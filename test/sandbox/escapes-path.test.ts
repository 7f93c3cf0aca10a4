/**
 * A repo with programs that have the names of those that Holdfast starts, in a directory on the person's
 * PATH.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { findOutsideProgram } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { kinds, Person } from "../support/person.ts";
import { gitIn } from "../support/repo.ts";

const NAMES = [
  ...["bwrap", "nsenter", "unshare", "setpriv", "prlimit", "sh", "mount", "sleep", "script", "stty"],
  ...["git", "du", "chmod", "rm", "cp", "sync", "mkfifo", "true", "fallocate", "btrfs"],
];

/** Each leaves its name where nothing in a sandbox can write, and then runs the real program of that name. */
function plant(main: string, ran: string): void {
  mkdirSync(join(main, "bin"));
  mkdirSync(ran);
  for (const name of NAMES) {
    const real = findOutsideProgram(name) ?? "/bin/false";
    const text = `#!/bin/bash\n: 2>/dev/null >${join(ran, name)}\nexec ${real} "$@"\n`;
    writeFileSync(join(main, "bin", name), text, { mode: 0o755 });
  }
  gitIn(main, "add", "-A");
  gitIn(main, "commit", "-qm", "programs");
}

for (const kind of kinds) {
  if (kind.why) console.log(`left out: programs of a checkout, for ${kind.name}: ${kind.why}`);
  describe.skipIf(!hasSandbox || kind.why !== undefined)(`programs of a checkout, for ${kind.name}`, () => {
    it("program-1 never run outside the sandbox, in whatever way PATH leads to them", async () => {
      using person = new Person(kind);
      const ran = person.join("ran");
      plant(person.main, ran);
      symlinkSync(join(person.main, "bin"), person.join("link"));
      person.env["PATH"] =
        `bin::${join(person.main, "bin")}:${person.join("link")}:${person.env["PATH"] ?? ""}`;
      person.settleIn();
      expect(await person.run("command -v bwrap; echo one > new; chmod 600 new")).toBe("bin/bwrap");
      for (const words of [
        ["run", "--name", "plain", "--no-sandbox", "--", "/bin/echo", "two"],
        ["diff", "plain"],
        ["doctor"],
        ["rm", "plain", "--yes"],
      ])
        await person.holdfast(...words);
      expect(readdirSync(ran)).toEqual([]);
      // Control: one that runs leaves its name.
      execFileSync(join(person.main, "bin", "true"));
      expect(readdirSync(ran)).toEqual(["true"]);
    });
  });
}

describe("a program that Holdfast starts", () => {
  it("program-1 is never a checkout's, though a link in a checkout may lead to the machine's own", () => {
    using temp = new TempDir();
    const [repo, own] = [temp.join("repo"), temp.join("own")];
    mkdirSync(join(repo, ".git"), { recursive: true });
    for (const dir of [join(repo, "bin"), own]) {
      mkdirSync(dir);
      for (const name of ["sh", "tool"]) writeFileSync(join(dir, name), "");
      for (const name of ["sh", "tool"]) chmodSync(join(dir, name), 0o755);
    }
    symlinkSync("/usr/bin", join(repo, "machine"));
    symlinkSync(own, join(repo, "elsewhere"));
    symlinkSync(join(repo, "bin"), temp.join("link"));
    const find = (name: string, ...path: string[]) => {
      vi.stubEnv("PATH", path.join(":"));
      try {
        return findOutsideProgram(name);
      } finally {
        vi.unstubAllEnvs();
      }
    };
    const bad = [join(repo, "bin"), temp.join("link"), join(repo, "elsewhere"), "bin", "", "."];
    expect(find("tool", ...bad)).toBeUndefined();
    expect(find("tool", ...bad, own)).toBe(join(own, "tool"));
    expect(find("sh", ...bad, join(repo, "machine"))).toBe("/usr/bin/sh");
  });
});
