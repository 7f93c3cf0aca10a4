import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openSealedJson, sealJson, sha256Hex } from "../../src/util/index.ts";
import { runCli } from "../support/cli.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

async function exported(home: TestHome): Promise<{ id: string; file: string; content: Buffer }> {
  const hf = await home.open();
  const session = await hf.openSession({ title: "moving", repo: "/somewhere/else" });
  const turn = await session.beginTurn("long ".repeat(2000));
  await turn.callTool("run", {});
  await session.release();
  const file = home.join("out.holdfast");
  await hf.exportSession(session.id, file);
  return { id: session.id, file, content: zstdDecompressSync(readFileSync(file)) };
}

function parts(content: Buffer) {
  const end = content.indexOf(10) + 1;
  return {
    manifest: openSealedJson(content.subarray(0, end)) as Record<string, unknown>,
    body: content.subarray(end),
  };
}

type File = { path: string; bytes: number; sha256: string };
function forge(manifest: Record<string, unknown>, body: Buffer): Buffer {
  const { hash: _, ...rest } = manifest;
  return zstdCompressSync(Buffer.concat([sealJson(rest), body]));
}

describe("export and import", () => {
  it("an imported session has every record, is paused and can be resumed in its new home", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { id, file } = await exported(here);
    const other = await there.open();
    expect(await other.importSession(file)).toBe(id);
    expect(await other.showSession(id)).toMatchObject({
      status: "paused",
      title: "moving",
      repo: null,
      turns: 1,
    });
    const source = await Array.fromAsync((await here.open()).readJournal(id));
    const arrived = await Array.fromAsync(other.readJournal(id));
    expect(arrived.slice(0, source.length)).toEqual(source);
    // The turn that was open is closed here as after a crash, and the import is recorded.
    expect(arrived.slice(source.length).map(({ type }) => type)).toEqual([
      "tool_returned",
      "turn_ended",
      "session_imported",
    ]);
    expect((await other.auditSession(id)).findings).toEqual([]);
    await using session = await other.resumeSession(id);
    await (await session.beginTurn("on")).end();
    expect(session.state.turns).toBe(2);
    for (const [dir, mode] of [
      ["", 0o700],
      ["journal", 0o700],
      ["session.json", 0o600],
    ] as const) {
      const { statSync } = await import("node:fs");
      expect(statSync(there.sessionDir(id, dir)).mode & 0o777).toBe(mode);
    }
  });

  it("an import refuses a session that already exists, and an export an output file that does", async () => {
    using home = new TestHome();
    const { id, file } = await exported(home);
    const hf = await home.open();
    await expect(hf.importSession(file)).rejects.toMatchObject({ code: "duplicate_session" });
    await expect(hf.exportSession(id, file)).rejects.toMatchObject({ code: "file_exists" });
    expect(readdirSync(join(home.dir, "staging"))).toEqual([]);
  });

  it("import-3 an imported session belongs to the user who imports it", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { id, file } = await exported(here);
    const other = await there.open();
    await other.importSession(file, { user: "bo", repo: "/my/repo" });
    await expect(other.showSession(id)).rejects.toMatchObject({ code: "session_not_found" });
    expect(await other.showSession(id, { user: "bo" })).toMatchObject({ user: "bo", repo: "/my/repo" });
  });

  it("import-3 an import keeps unread messages for the same user, and drops and reports another user's", async () => {
    using here = new TestHome();
    const hf = await here.open();
    const session = await hf.openSession({ user: "ani" });
    await session.append("message_received", { message: "msg_1", from: "user:ani", text: "for ani alone" });
    await session.pause();
    await hf.exportSession(session.id, here.join("out"), { user: "ani" });
    using own = new TestHome();
    const same = await own.open();
    await same.importSession(here.join("out"), { user: "ani" });
    expect((await same.showSession(session.id, { user: "ani" })).unread).toBe(1);
    using others = new TestHome();
    const { status, stderr } = await runCli(others.dir, ["import", here.join("out"), "--user", "bo"]);
    expect([status, stderr]).toEqual([0, "dropped 1 unread message for ani\n"]);
    expect((await (await others.open()).showSession(session.id, { user: "bo" })).unread).toBe(0);
  });

  it("import-1 an import refuses a file with changed, missing or added bytes, and shows nothing of it", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { id, file } = await exported(here);
    const other = await there.open();
    const original = readFileSync(file);
    const tried = there.join("tried.holdfast");
    const refuses = async (bytes: Buffer, what: string) => {
      writeFileSync(tried, bytes);
      await expect(other.importSession(tried), what).rejects.toMatchObject({ code: "export_invalid" });
    };
    const source = await Array.fromAsync((await here.open()).readJournal(id));
    let refused = 0;
    for (let offset = 0; offset < original.length; offset += 7) {
      const flipped = Buffer.from(original);
      flipped[offset] = (flipped[offset] as number) ^ 0x04;
      writeFileSync(tried, flipped);
      const result = await other.importSession(tried).catch((error: { code: string }) => error.code);
      if (result === "export_invalid") refused += 1;
      else {
        // Some bits do not affect the content. Then everything must arrive unchanged.
        expect(result).toBe(id);
        expect((await Array.fromAsync(other.readJournal(id))).slice(0, source.length)).toEqual(source);
        rmSync(there.sessionDir(id), { recursive: true });
      }
    }
    expect(refused).toBeGreaterThan((original.length / 7) * 0.9);
    for (let length = 0; length < original.length; length += 101)
      await refuses(original.subarray(0, length), `cut to ${length}`);
    await refuses(
      zstdCompressSync(Buffer.concat([zstdDecompressSync(original), Buffer.from("more")])),
      "something behind the last file",
    );
    expect(await other.listSessions({ user: null })).toEqual([]);
    expect(readdirSync(join(there.dir, "staging"))).toEqual([]);
    expect(readdirSync(join(there.dir, "sessions"))).toEqual([]);
  });

  it("import-1 an import refuses a forged manifest that contradicts the hash chain or the journal", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { content } = await exported(here);
    const other = await there.open();
    const { manifest, body } = parts(content);
    const files = manifest["files"] as File[];
    const changed = Buffer.from(body.toString("latin1").replace("moving", "MOVING"), "latin1");
    let offset = 0;
    const fitted = files.map((file) => {
      const bytes = changed.subarray(offset, offset + file.bytes);
      offset += file.bytes;
      return { ...file, sha256: sha256Hex(bytes) };
    });
    const tried = there.join("tried.holdfast");
    writeFileSync(tried, forge({ ...manifest, files: fitted }, changed));
    await expect(other.importSession(tried)).rejects.toMatchObject({
      code: "export_invalid",
      message: expect.stringContaining("journal/"),
    });
    writeFileSync(tried, forge({ ...manifest, session: "sess_01k00000000000000000000000" }, body));
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_invalid" });
    for (const wrong of [{ seq: 1 }, { bytes: 1 }, { segment: 9 }, { hash: "0".repeat(64) }]) {
      writeFileSync(tried, forge({ ...manifest, head: { ...(manifest["head"] as object), ...wrong } }, body));
      await expect(other.importSession(tried), JSON.stringify(wrong)).rejects.toMatchObject({
        code: "export_invalid",
      });
    }
    const stray = Buffer.from("stray");
    const strays = [
      { path: "journal/000009.jsonl", bytes: 5, sha256: sha256Hex(stray) },
      { path: `blobs/${sha256Hex(stray)}`, bytes: 5, sha256: sha256Hex(stray) },
    ];
    for (const file of strays) {
      writeFileSync(tried, forge({ ...manifest, files: [...files, file] }, Buffer.concat([body, stray])));
      await expect(other.importSession(tried), file.path).rejects.toMatchObject({ code: "export_invalid" });
    }
    expect(readdirSync(join(there.dir, "sessions"))).toEqual([]);
  });

  it("import-2 an import refuses escaping, unknown and duplicate file names before it writes anything", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { content } = await exported(here);
    const other = await there.open();
    const { manifest, body } = parts(content);
    const [first] = manifest["files"] as [File];
    const names = [
      "../../escape",
      "/tmp/escape",
      "journal/../../escape",
      "journal/000001.jsonl/../../../x",
      "fold.json",
      "token",
      "owner.lock",
      "blobs/x",
      "journal/1.jsonl",
      "journal/000001.jsonl\u0000",
    ];
    const tried = there.join("tried.holdfast");
    for (const path of names) {
      writeFileSync(tried, forge({ ...manifest, files: [{ ...first, path }] }, body));
      await expect(other.importSession(tried), path).rejects.toMatchObject({ code: "export_refused" });
    }
    writeFileSync(tried, forge({ ...manifest, files: [first, first] }, body));
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_refused" });
    for (const session of ["../x", "sess_../../x", ""]) {
      writeFileSync(tried, forge({ ...manifest, session }, body));
      await expect(other.importSession(tried), session).rejects.toMatchObject({ code: "export_invalid" });
    }
    expect(existsSync(there.join("escape"))).toBe(false);
    expect(readdirSync(there.path).sort()).toEqual(["home", "tried.holdfast"]);
  });

  it("import-2 an import refuses a decompression bomb, whatever its manifest says", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { content } = await exported(here);
    const other = await there.open();
    const { manifest } = parts(content);
    const zeros = Buffer.alloc(1024 * 1024 * 1024);
    const sha256 = sha256Hex(zeros);
    const tried = there.join("bomb.holdfast");
    writeFileSync(
      tried,
      forge({ ...manifest, files: [{ path: `blobs/${sha256}`, bytes: zeros.length, sha256 }] }, zeros),
    );
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_refused" });
    // A bomb without a manifest.
    writeFileSync(tried, zstdCompressSync(zeros.subarray(0, 512 * 1024 * 1024)));
    await expect(other.importSession(tried)).rejects.toMatchObject({
      code: expect.stringMatching(/^export_/),
    });
    writeFileSync(
      tried,
      forge(
        { ...manifest, files: [{ path: "journal/000001.jsonl", bytes: 300 * 1024 * 1024, sha256 }] },
        Buffer.alloc(0),
      ),
    );
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_refused" });
    expect(readdirSync(join(there.dir, "staging"))).toEqual([]);
  });

  it("import-1 import-2 files outside the journal must match the manifest, and their total is limited", async () => {
    using here = new TestHome();
    using there = new TestHome();
    const { id, content } = await exported(here);
    const other = await there.open();
    const { manifest, body } = parts(content);
    const files = manifest["files"] as File[];
    const tried = there.join("tried.holdfast");
    const kept = Buffer.from("kept as it is");
    const withKept = (sha256: string) => {
      const file = { path: "snapshots.pack", bytes: kept.length, sha256 };
      return forge({ ...manifest, files: [...files, file] }, Buffer.concat([body, kept]));
    };
    writeFileSync(tried, withKept(sha256Hex("something else")));
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_invalid" });
    const sha256 = "0".repeat(64);
    const huge = { path: `blobs/${sha256}`, bytes: 2 ** 40, sha256 };
    writeFileSync(tried, forge({ ...manifest, files: [...files, huge] }, body));
    await expect(other.importSession(tried)).rejects.toMatchObject({ code: "export_refused" });
    expect(readdirSync(join(there.dir, "sessions"))).toEqual([]);
    writeFileSync(tried, withKept(sha256Hex(kept)));
    expect(await other.importSession(tried)).toBe(id);
  });

  it("an import fails with a clear error if the file is missing, empty, cut, newer or not an export", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    const file = home.join("f");
    for (const bytes of ["", "hello", "{}\n"]) {
      writeFileSync(file, bytes);
      await expect(hf.importSession(file)).rejects.toMatchObject({ code: "export_invalid" });
    }
    await expect(hf.importSession(home.join("nothing"))).rejects.toMatchObject({ code: "export_invalid" });
    const good = home.join("good");
    await hf.exportSession(id, good);
    const { manifest, body } = parts(zstdDecompressSync(readFileSync(good)));
    writeFileSync(file, forge({ ...manifest, holdfast: 2 }, body));
    await expect(hf.importSession(file)).rejects.toMatchObject({ code: "newer_format" });
    truncateSync(good, 20);
    await expect(hf.importSession(good)).rejects.toMatchObject({ code: "export_invalid" });
  });
});
