/**
 * operator-1 and operator-2: one key for a home, which only its user can have made and read.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  fingerprintOf,
  operatorPublicPath,
  readOperatorPublicKey,
  verifyGrant,
} from "../../src/approval/index.ts";
import { type Home, openHome } from "../../src/home/index.ts";
import { operatorKey } from "../../src/operator/key.ts";
import { signGrant } from "../../src/operator/signing.ts";
import { operatorDir } from "../../src/util/index.ts";
import { anAction, keyPair } from "../support/approvals.ts";
import { TestHome } from "../support/home.ts";

const keyPath = (home: Home) => join(operatorDir(home.dir), "key.pem");
const modeOf = (path: string) => statSync(path).mode & 0o777;

const decided = {
  approval: "appr_01k0000000e008000000000003",
  request: { seq: 7, hash: "a".repeat(64) },
  session: anAction.session,
  fingerprint: fingerprintOf(anAction),
  by: "user:ani",
};

describe("the operator's key", () => {
  it("operator-1 is made once even if many need it at the same time, and leaves no other files behind", async () => {
    using test = new TestHome();
    const homes = await Promise.all(
      Array.from({ length: 8 }, () => openHome({ home: test.dir, create: true })),
    );
    const keys = await Promise.all(homes.map((home) => operatorKey(home)));
    const [first] = keys;
    for (const key of keys) expect(first && key.equals(first)).toBe(true);
    const [home] = homes;
    if (!home) throw new Error("no home");
    expect(readdirSync(operatorDir(home.dir)).sort()).toEqual(["key.pem", "public.pem"]);
    expect(modeOf(operatorDir(home.dir))).toBe(0o700);
    expect(modeOf(keyPath(home))).toBe(0o600);
    expect(modeOf(operatorPublicPath(home.dir))).toBe(0o600);
  });

  it("gets its missing public half back at the next use, as after a kill between its two files", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir, create: true });
    await operatorKey(home);
    const before = readFileSync(operatorPublicPath(home.dir), "utf8");
    rmSync(operatorPublicPath(home.dir));
    await operatorKey(home);
    expect(readFileSync(operatorPublicPath(home.dir), "utf8")).toBe(before);
  });

  it.each<[string, (home: Home) => void]>([
    ["others can read it", (home) => chmodSync(keyPath(home), 0o640)],
    ["others can enter its directory", (home) => chmodSync(operatorDir(home.dir), 0o750)],
    ["it is a link", (home) => linked(keyPath(home))],
    ["its directory is a link", (home) => linked(operatorDir(home.dir))],
    ["it is not a key", (home) => writeFileSync(keyPath(home), "none")],
    [
      "its public half belongs to another key",
      (home) =>
        writeFileSync(
          operatorPublicPath(home.dir),
          keyPair().publicKey.export({ format: "pem", type: "spki" }),
        ),
    ],
    [
      "it was replaced",
      (home) => writeFileSync(keyPath(home), keyPair().privateKey.export({ format: "pem", type: "pkcs8" })),
    ],
  ])("operator-2 is not used if %s", async (_, change) => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir, create: true });
    await operatorKey(home);
    change(home);
    await expect(signGrant(home, decided, "2026-01-01T00:00:00.000Z")).rejects.toMatchObject({
      code: expect.stringMatching(/^(grant_invalid|unsafe_permissions)$/),
    });
  });

  it("operator-2 is not made in an existing directory that others can enter", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir, create: true });
    mkdirSync(operatorDir(home.dir), { mode: 0o755 });
    await expect(operatorKey(home)).rejects.toMatchObject({ code: "unsafe_permissions" });
    expect(existsSync(keyPath(home))).toBe(false);
  });

  it("signs a grant for ten minutes from the clock or the last record, whichever is later", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir, create: true });
    const later = "2126-01-01T00:00:00.000Z";
    const grant = await signGrant(home, decided, later);
    expect(grant).toMatchObject({
      ...decided,
      home: home.id,
      version: 1,
      grantedAt: later,
      expiresAt: "2126-01-01T00:10:00.000Z",
    });
    const expected = { ...decided, home: home.id };
    const key = readOperatorPublicKey(home.dir);
    expect(verifyGrant(key, grant, expected, Date.parse(later))).toEqual(grant);
    expect(() => verifyGrant(key, grant, expected, Date.parse(grant.expiresAt))).toThrow("expired");
    const now = await signGrant(home, decided, "2026-01-01T00:00:00.000Z");
    expect(Date.parse(now.grantedAt)).toBeGreaterThan(Date.parse("2026-01-01T00:00:00.000Z"));
  });
});

function linked(path: string): void {
  renameSync(path, `${path}.elsewhere`);
  symlinkSync(`${path}.elsewhere`, path);
}
