/**
 * Bells, and where they hang: who rings is heard, whatever else goes on at the socket.
 */
import { chmodSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findHomeRuntimeDir, hangBell, listen, makeHomeRuntimeDir, ring } from "../../src/mail/index.ts";
import { runProgram } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";

describe("the place of sockets", () => {
  it("is one for a home, however many make it at the same time, and the same again when it was lost", async () => {
    using dir = new TempDir();
    const made = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const child = await runProgram(
          [
            process.execPath,
            "-e",
            "const [library, home] = process.argv.slice(1); import(library).then((mail) => console.log(mail.makeHomeRuntimeDir(home)))",
            join(import.meta.dirname, "../../src/mail/index.ts"),
            dir.path,
          ],
          { env: { PATH: process.env["PATH"] ?? "" } },
        );
        return child.stdout.toString().trim();
      }),
    );
    const [place = ""] = made;
    try {
      expect(new Set(made)).toEqual(new Set([findHomeRuntimeDir(dir.path)]));
      rmdirSync(place);
      expect(makeHomeRuntimeDir(dir.path)).toBe(place);
      // Somebody else has taken the name.
      chmodSync(place, 0o755);
      const other = makeHomeRuntimeDir(dir.path);
      expect(other).not.toBe(place);
      rmdirSync(other);
    } finally {
      rmdirSync(place);
    }
  });
});

describe("a bell", () => {
  it("hears every ring, also from one who is gone when there is news for all", async () => {
    using dir = new TempDir();
    let rings = 0;
    const bell = await hangBell(dir.join("bell"), () => {
      rings += 1;
    });
    let isOver = false;
    const news = (async () => {
      for (; !isOver; await tick()) bell.news();
    })();
    for (let number = 1; number <= 300; number += 1) {
      const before = rings;
      expect(await ring(dir.join("bell"))).toBe(true);
      for (let turns = 0; rings === before && turns < 1000; turns += 1) await tick();
      expect(rings, `ring ${number}`).toBeGreaterThan(before);
    }
    isOver = true;
    await news;
    await bell.close();
    expect(await ring(dir.join("bell"))).toBe(false);
  });

  it("rings those who listen when there is news, and when it is taken down", async () => {
    using dir = new TempDir();
    const bell = await hangBell(dir.join("bell"), () => {});
    const listening = listen(dir.join("bell"));
    // The first answer is at once: something may have happened before.
    await listening.next(10_000);
    const news = listening.next(10_000);
    for (let heard = false; !heard; await tick()) {
      bell.news();
      heard = await Promise.race([news.then(() => true), tick(false)]);
    }
    const gone = listening.next(10_000);
    await bell.close();
    await gone;
    listening.close();
  });
});
