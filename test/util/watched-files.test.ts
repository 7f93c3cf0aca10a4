/**
 * Waiting for small files, and for the first of several things to happen.
 */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { News, WatchedFiles } from "../../src/util/index.ts";
import { TempDir } from "../support/home.ts";

const LONG_MS = 60_000;

describe("watched files", () => {
  it("report that a watched file appears, is replaced or is removed, and nothing about other files", async () => {
    using dir = new TempDir();
    const [watchedPath, otherPath] = [dir.join("watched"), dir.join("other")];
    const files = new WatchedFiles([watchedPath, dir.join("no-such-directory/file")]);
    // The first call returns at once, because something may have happened before.
    await files.next(LONG_MS);
    const replace = () => {
      writeFileSync(otherPath, "x");
      renameSync(otherPath, watchedPath);
    };
    for (const change of [replace, replace, () => rmSync(watchedPath)]) {
      change();
      await files.next(LONG_MS);
    }
    writeFileSync(otherPath, "x");
    let isTold = false;
    const told = files.next(300).then(() => {
      isTold = true;
    });
    for (let turn = 0; turn < 50; turn += 1) await tick();
    expect(isTold).toBe(false);
    await told;
    files.close();
  });
});

describe("news", () => {
  it("that arrives while nothing waits is not lost, and ends one wait however often it arrived", async () => {
    const news = new News();
    await news.next(LONG_MS);
    news.tell();
    news.tell();
    await news.next(LONG_MS);
    let isOver = false;
    const next = news.next(LONG_MS).then(() => {
      isOver = true;
    });
    await tick();
    expect(isOver).toBe(false);
    news.tell();
    await next;
    // Without news, the time limit ends the wait.
    await news.next(1);
  });
});
