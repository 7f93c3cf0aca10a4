/**
 * Checkouts and Holdfast homes in the directories of the machine's programs, such as /opt.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { neighbours } from "../../../src/process/sandbox/neighbours.ts";
import { hasSandbox } from "../../support/capsules.ts";
import { TempDir } from "../../support/home.ts";
import { HostHome } from "../../support/hosts.ts";
import { makeRepo } from "../../support/repo.ts";

/** A stand-in for /opt. */
class Programs extends TempDir {
  file(path: string, text = ""): string {
    mkdirSync(dirname(this.join(path)), { recursive: true });
    writeFileSync(this.join(path), text);
    return this.join(path);
  }

  around(checkout: string, programs: readonly string[] = []): string[] {
    const paths = neighbours(this.join(checkout), { dirs: [this.path], links: [] }, programs);
    return paths.map((path) => path.slice(this.path.length + 1));
  }
}

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("left out: a checkout in /opt: the tests do not run as root");

describe("a checkout among the machine's programs", () => {
  it("view-2 has everything around it covered, up to the directory of programs", () => {
    using temp = new Programs();
    temp.file("work/team/app/.git/HEAD");
    temp.file("tool/bin/tool");
    expect(temp.around("work/team/app")).toEqual(["work"]);
    expect(neighbours("/somewhere/else", { dirs: [temp.path], links: [] }, [])).toEqual([]);
  });

  it("view-2 has other checkouts covered where the directory has programs, too", () => {
    using temp = new Programs();
    for (const file of ["app/.git/HEAD", "other/.git/HEAD", "tool/bin/tool"]) temp.file(file);
    expect(temp.around("app")).toEqual(["other"]);
    for (const file of ["mixed/app/.git/HEAD", "mixed/other/.git", "mixed/bin/tool"]) temp.file(file);
    expect(temp.around("mixed/app", [temp.join("mixed/bin")])).toEqual(["app", "other", "mixed/other"]);
  });

  it.runIf(isRoot && hasSandbox)(
    "view-2 shows a task its own files in /opt, programs there, and no neighbour or Holdfast home",
    async () => {
      const [dir, beside] = [1, 2].map(() => mkdtempSync("/opt/holdfast-test-")) as [string, string];
      try {
        for (const one of [dir, beside]) chmodSync(one, 0o755);
        const put = (path: string, text: string) => {
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, text);
          return path;
        };
        const secrets = [
          put(join(dir, "other", ".env"), "PLANTED"),
          put(join(beside, "home", "home.json"), "PLANTED"),
          put(join(beside, "home", "sessions", "x", "token"), "PLANTED"),
        ];
        const tool = put(join(beside, "bin", "tool"), "a program\n");
        const app = makeRepo(join(dir, "app"));
        using home = new HostHome();
        const look = `cat a.txt ${tool}; ls ..; cat ${secrets.join(" ")}; touch ../x; true`;
        const { status, stdout, stderr } = await home.cli("run", "--repo", app, "--", "sh", "-c", look);
        expect(status, stderr).toBe(0);
        expect(stdout).toBe("one\na program\napp\n");
        expect(stderr).not.toContain("PLANTED");
      } finally {
        for (const one of [dir, beside]) rmSync(one, { recursive: true, force: true });
      }
    },
  );
});
