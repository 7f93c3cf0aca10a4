/**
 * spend-1 and spend-2: an approval is spent once for the whole home, and that is on disk before it is
 *    reported.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { spend, wasSpent } from "../../src/approval/index.ts";
import type { SpendingDisk } from "../../src/approval/spend.ts";
import { openSealedJson, spentDir } from "../../src/util/index.ts";
import { codeOf } from "../support/approvals.ts";
import { TempDir } from "../support/home.ts";

const APPROVAL = "appr_01k0000000e008000000000003";
const fixture = join(import.meta.dirname, "..", "fixtures", "spender.ts");

/** A disk that notes the order of its calls, and fails one of them if asked to. */
function toldDisk(told: string[], failing?: string): SpendingDisk {
  const tell = (what: string) => {
    told.push(what);
    if (what === failing) throw Object.assign(new Error(what), { code: "EIO" });
  };
  return {
    create(path, bytes) {
      tell(`create ${nameOf(path)}`);
      writeFileSync(path, bytes, { flag: "wx" });
    },
    mkdir(path) {
      tell(`mkdir ${nameOf(path)}`);
      mkdirSync(path);
    },
    syncDir: (path) => tell(`sync ${nameOf(path)}`),
  };
}

const nameOf = (path: string) =>
  path.endsWith("spent") ? "spent" : path.includes("/spent/") ? "file" : "home";

describe("spending an approval", () => {
  it("spend-1 works once, and the record of the first spender stays", async () => {
    using home = new TempDir();
    expect(wasSpent(home.path, APPROVAL)).toBe(false);
    expect(spend(home.path, APPROVAL, { session: "sess_1", at: "now" })).toBe(true);
    expect(wasSpent(home.path, APPROVAL)).toBe(true);
    expect(spend(home.path, APPROVAL, { session: "sess_2" })).toBe(false);
    const bytes = readFileSync(join(spentDir(home.path), APPROVAL));
    expect(openSealedJson(bytes)).toMatchObject({ approval: APPROVAL, session: "sess_1", at: "now" });
  });

  it("spend-1 gives each of fifty approvals to exactly one of two racing processes", async () => {
    using home = new TempDir();
    const approvals = Array.from({ length: 50 }, (_, at) => `appr_${String(at).padStart(26, "0")}`);
    const children = ["a", "b"].map((name) =>
      spawn(process.execPath, [fixture, home.path, name, ...approvals], {
        stdio: ["pipe", "pipe", "inherit"],
      }),
    );
    const lines = children.map(({ stdout }) => createInterface(stdout)[Symbol.asyncIterator]());
    for (const one of lines) expect((await one.next()).value).toBe("ready");
    for (const { stdin } of children) stdin.write("go\n");
    const got = await Promise.all(
      lines.map(async (one) => JSON.parse(String((await one.next()).value)) as string[]),
    );
    await Promise.all(children.map((child) => child.exitCode ?? once(child, "exit")));
    expect(got.flat().sort()).toEqual(approvals);
    expect(readdirSync(spentDir(home.path)).sort()).toEqual(approvals);
  });

  it("spend-2 syncs the directories before it returns", async () => {
    using home = new TempDir();
    const told: string[] = [];
    spend(home.path, APPROVAL, {}, toldDisk(told));
    expect(told).toEqual(["mkdir spent", "sync home", "create file", "sync spent"]);
  });

  it.each(["sync spent", "sync home"])("spend-2 throws if the step %s fails", async (step) => {
    using home = new TempDir();
    expect(() => spend(home.path, APPROVAL, {}, toldDisk([], step))).toThrow(step);
  });

  it("spend-2 counts an approval as spent if its file was cut off while it was written", async () => {
    using home = new TempDir();
    mkdirSync(spentDir(home.path), { mode: 0o700 });
    writeFileSync(join(spentDir(home.path), APPROVAL), "");
    expect(wasSpent(home.path, APPROVAL)).toBe(true);
    expect(spend(home.path, APPROVAL, {})).toBe(false);
  });

  it("counts a dangling link in place of its file as spent", async () => {
    using home = new TempDir();
    mkdirSync(spentDir(home.path), { mode: 0o700 });
    symlinkSync(home.join("elsewhere"), join(spentDir(home.path), APPROVAL));
    expect(wasSpent(home.path, APPROVAL)).toBe(true);
    expect(spend(home.path, APPROVAL, {})).toBe(false);
    expect(existsSync(home.join("elsewhere"))).toBe(false);
  });

  it("refuses a link in place of spent/, because its target may lose files", async () => {
    using home = new TempDir();
    mkdirSync(home.join("elsewhere"));
    symlinkSync(home.join("elsewhere"), spentDir(home.path));
    expect(codeOf(() => spend(home.path, APPROVAL, {}))).toBe("unsafe_permissions");
    rmSync(spentDir(home.path));
    chmodSync(home.path, 0o700);
    expect(spend(home.path, APPROVAL, {})).toBe(true);
  });

  it.each(["../appr_1", "appr_1/../../x", "appr_", "sess_01k", "appr_A", "appr_1\n", ""])(
    "refuses an id that is not an approval's: %j",
    async (id) => {
      using home = new TempDir();
      expect(codeOf(() => spend(home.path, id, {}))).toBe("grant_invalid");
      expect(codeOf(() => wasSpent(home.path, id))).toBe("grant_invalid");
    },
  );
});
