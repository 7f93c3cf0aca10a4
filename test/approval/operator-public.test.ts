/**
 * The operator's public key is read only from a plain file that its user alone can read and write.
 */
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { operatorPublicPath, readOperatorPublicKey } from "../../src/approval/index.ts";
import { operatorDir } from "../../src/util/index.ts";
import { codeOf, keyPair } from "../support/approvals.ts";
import { TempDir } from "../support/home.ts";

const { publicKey, privateKey } = keyPair();
const pem = publicKey.export({ format: "pem", type: "spki" });

function planted(home: string): void {
  mkdirSync(operatorDir(home), { mode: 0o700 });
  writeFileSync(operatorPublicPath(home), pem, { mode: 0o600 });
}

describe("the operator's public key", () => {
  it("is read from its file", () => {
    using dir = new TempDir();
    planted(dir.path);
    expect(readOperatorPublicKey(dir.path).equals(publicKey)).toBe(true);
  });

  it.each<[string, (home: string) => void]>([
    ["there is none", (home) => rmSync(operatorDir(home), { recursive: true })],
    ["its file is missing", (home) => rmSync(operatorPublicPath(home))],
    ["others can read the file", (home) => chmodSync(operatorPublicPath(home), 0o644)],
    ["others can write the file", (home) => chmodSync(operatorPublicPath(home), 0o622)],
    ["others can enter the directory", (home) => chmodSync(operatorDir(home), 0o711)],
    ["the file is a link", (home) => linked(operatorPublicPath(home))],
    ["the directory is a link", (home) => linked(operatorDir(home))],
    ["the file is a directory", (home) => replaced(operatorPublicPath(home), (path) => mkdirSync(path))],
    ["it is empty", (home) => writeFileSync(operatorPublicPath(home), "")],
    ["it is cut off", (home) => writeFileSync(operatorPublicPath(home), String(pem).slice(0, 60))],
    ["it is too long", (home) => writeFileSync(operatorPublicPath(home), `${pem}${"\n".repeat(5000)}`)],
    [
      "it is the private key",
      (home) => writeFileSync(operatorPublicPath(home), privateKey.export({ format: "pem", type: "pkcs8" })),
    ],
    [
      "it is a key of another kind",
      (home) =>
        writeFileSync(
          operatorPublicPath(home),
          generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({
            format: "pem",
            type: "spki",
          }),
        ),
    ],
  ])("is refused if %s", (_, change) => {
    using dir = new TempDir();
    planted(dir.path);
    change(dir.path);
    expect(codeOf(() => readOperatorPublicKey(dir.path))).toBe("grant_invalid");
  });

  it.skipIf(process.geteuid?.() !== 0)("is refused if its file belongs to another user", async () => {
    const { chownSync } = await import("node:fs");
    using dir = new TempDir();
    planted(dir.path);
    chownSync(operatorPublicPath(dir.path), 12345, 12345);
    expect(codeOf(() => readOperatorPublicKey(dir.path))).toBe("grant_invalid");
  });
});

function replaced(path: string, make: (path: string) => unknown): void {
  rmSync(path, { recursive: true });
  make(path);
}

function linked(path: string): void {
  renameSync(path, `${path}.elsewhere`);
  symlinkSync(`${path}.elsewhere`, path);
}
