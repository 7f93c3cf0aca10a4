/**
 * Bells and the directory of their sockets: every ring is heard, whatever else goes on at the socket.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  findHomeRuntimeDir,
  hangBell,
  knock,
  listen,
  makeHomeRuntimeDir,
  ring,
  whenBellGone,
} from "../../src/mail/index.ts";
import { runProgram } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";
import { until } from "../support/hosts.ts";

describe("the directory of a home's sockets", () => {
  it("is the same one for all processes that make it at once, and for one that makes it again", async () => {
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
      // With these permissions it could be another user's, so another name is taken.
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
  it("hears every ring, even if its sender has left while the bell sends news to all", async () => {
    using dir = new TempDir();
    let rings = 0;
    const bell = await hangBell(dir.join("bell"), async () => {
      rings += 1;
    });
    let isOver = false;
    const news = (async () => {
      for (; !isOver; await tick()) bell.news();
    })();
    for (let number = 1; number <= 300; number += 1) {
      const before = rings;
      expect(await knock(dir.join("bell"))).toBe(true);
      for (let turns = 0; rings === before && turns < 1000; turns += 1) await tick();
      expect(rings, `ring ${number}`).toBeGreaterThan(before);
    }
    isOver = true;
    await news;
    bell.takeDown();
    expect(await knock(dir.join("bell"))).toBe(false);
  });

  it("answers a ring only after the look is over, however much news there is meanwhile", async () => {
    using dir = new TempDir();
    const looks: (() => void)[] = [];
    const bell = await hangBell(dir.join("bell"), () => new Promise((resolve) => looks.push(resolve)));
    let answer: string | undefined;
    const rung = ring(dir.join("bell")).then((said) => {
      answer = said;
    });
    while (looks.length === 0) await tick();
    for (let turn = 0; turn < 20; turn += 1, await tick()) bell.news();
    expect(answer).toBeUndefined();
    looks[0]?.();
    await rung;
    expect(answer).toBe("looked");
    bell.takeDown();
  });

  it("a ring is answered with `absent` if there is no bell, its process leaves, or it is taken down", async () => {
    using dir = new TempDir();
    const path = dir.join("bell");
    expect(await ring(path)).toBe("absent");
    const leaving = await hangBell(path, () => Promise.reject(new Error("it leaves")));
    expect(await ring(path)).toBe("absent");
    leaving.takeDown();
    let isRung = false;
    const bell = await hangBell(path, () => {
      isRung = true;
      return new Promise(() => {});
    });
    const rung = ring(path);
    while (!isRung) await tick();
    bell.takeDown();
    expect(await rung).toBe("absent");
    expect(await ring(path)).toBe("absent");
  });

  it("answers `silent` if its process hangs", async () => {
    using dir = new TempDir();
    const bell = await hangBell(dir.join("bell"), () => new Promise(() => {}));
    expect(await ring(dir.join("bell"), 200)).toBe("silent");
    bell.takeDown();
  });

  it("wakes its listeners when there is news, and when it is taken down", async () => {
    using dir = new TempDir();
    const bell = await hangBell(dir.join("bell"), async () => {});
    const listening = listen(dir.join("bell"));
    // The first answer comes at once, because something may have happened before.
    await listening.next(10_000);
    const news = listening.next(10_000);
    for (let heard = false; !heard; await tick()) {
      bell.news();
      heard = await Promise.race([news.then(() => true), tick(false)]);
    }
    expect(listening.isOver).toBe(false);
    const gone = listening.next(10_000);
    bell.takeDown();
    await gone;
    expect(listening.isOver).toBe(true);
    listening.close();
  });

  it("rings once for what comes together, and at once for what is urgent", async () => {
    using dir = new TempDir();
    const bell = await hangBell(dir.join("bell"), async () => {});
    const heard: string[] = [];
    const socket = connect(dir.join("bell")).on("data", (signs) => heard.push(...String(signs)));
    await until(() => heard.length === 1);
    const rings = () => heard.filter((sign) => sign === "!").length;
    for (let news = 0; news < 20; news += 1) {
      bell.news();
      await tick();
    }
    await until(() => rings() === 2);
    bell.news(true);
    await until(() => rings() === 3);
    // What was told before the rest is over is told after it, once.
    for (let news = 0; news < 5; news += 1) bell.news();
    await until(() => rings() === 4);
    const ended = once(socket, "close");
    socket.destroy();
    await ended;
    bell.takeDown();
  });

  it("keeps its connections when it is taken down, until its process ends", async () => {
    using dir = new TempDir();
    const child = spawn(
      process.execPath,
      [
        "-e",
        "const [library, path] = process.argv.slice(1); import(library).then(async (mail) => { const bell = await mail.hangBell(path, async () => {}); console.log('hangs'); process.stdin.once('data', () => { bell.takeDown(); console.log('down'); }).once('end', () => process.exit()); })",
        join(import.meta.dirname, "../../src/mail/index.ts"),
        dir.join("bell"),
      ],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    await once(child.stdout, "data");
    let isGone = false;
    const gone = whenBellGone(dir.join("bell"), new AbortController().signal).then(() => {
      isGone = true;
    });
    // The connection stands for certain, because a later one was answered.
    expect(await ring(dir.join("bell"))).toBe("looked");
    child.stdin.write("down");
    await once(child.stdout, "data");
    expect(await ring(dir.join("bell"))).toBe("absent");
    expect(isGone).toBe(false);
    child.stdin.end();
    await gone;
  });
});
