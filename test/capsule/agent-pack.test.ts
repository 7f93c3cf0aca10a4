/**
 * Packs that an agent crafted, in which a few bytes expand to many.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { takeAgentsInto } from "../../src/capsule/work/agent-commits.ts";
import { TestHome } from "../support/home.ts";
import { gitIn } from "../support/repo.ts";

const MEGABYTE = 1024 * 1024;

/** The header of an object in a pack: its type and four bits of its size, then seven bits at a time. */
function sizeBytes(type: number, size: number): Buffer {
  const bytes = [((type << 4) | (size & 15)) & 0x7f];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

function varint(size: number): Buffer {
  const bytes: number[] = [];
  for (let rest = size; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest >= 128 ? (rest % 128) | 0x80 : rest);
    if (rest < 128) return Buffer.from(bytes);
  }
}

/** A pack with a blob of four megabytes of zeros, and a delta that repeats it so many times. */
function packOf(times: number): Buffer {
  const base = Buffer.alloc(4 * MEGABYTE);
  const id = createHash("sha1").update(`blob ${base.length}\0`).update(base).digest();
  const copies = Array.from({ length: times }, () => Buffer.from([0x80 | 0x40, 0x40]));
  const delta = Buffer.concat([varint(base.length), varint(base.length * times), ...copies]);
  const body = Buffer.concat([
    Buffer.from("PACK\0\0\0\u0002\0\0\0\u0002", "latin1"),
    Buffer.concat([sizeBytes(3, base.length), deflateSync(base)]),
    Buffer.concat([sizeBytes(7, delta.length), id, deflateSync(delta)]),
  ]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

it("keep-5 refuses a pack with a delta that expands to a gigabyte, and takes one that expands to 64 MB", async () => {
  using home = new TestHome();
  const to = home.join("to");
  mkdirSync(to);
  gitIn(to, "init", "-q");
  const place = { gitDir: join(to, ".git") };
  for (const [times, isTaken] of [
    [16, true],
    [256, false],
  ] as const) {
    const pack = home.join(`${times}.pack`);
    writeFileSync(pack, packOf(times));
    const taking = takeAgentsInto(place, pack);
    if (isTaken) await taking;
    else await expect(taking).rejects.toMatchObject({ code: "publish_refused", message: /over limit/ });
  }
  const packs = readdirSync(join(to, ".git", "objects", "pack"));
  expect(packs.filter((name) => name.endsWith(".pack"))).toHaveLength(1);
});
