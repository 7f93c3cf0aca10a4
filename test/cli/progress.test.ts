/**
 * The progress of a long operation, as it is shown at a terminal and in a pipe.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ProgressDisplay } from "../../src/cli/progress.ts";
import { progressText } from "../../src/cli/progress-text.ts";
import { Meter, type Progress } from "../../src/util/index.ts";

/** A display on a screen, with a clock that only the test moves. */
function onScreen(isTTY: boolean, columns = 80) {
  const clock = { nowMs: 0 };
  let written = "";
  const write = (text: string) => {
    written += text;
  };
  const display = new ProgressDisplay({ isTTY, columns, write }, () => clock.nowMs);
  const take = () => {
    const taken = written.replaceAll("\r\u001b[K", "<clear>");
    written = "";
    return taken;
  };
  return { display, clock, take };
}

describe("the progress line", () => {
  it("says what is done, with the number of files and bytes", () => {
    expect(progressText({ what: "packing" })).toBe("packing");
    expect(progressText({ what: "packing", files: 1, bytes: 2_500_000 })).toBe("packing: 1 file, 2.5 MB");
    expect(progressText({ what: "packing", files: 3, ofFiles: 10, bytes: 0, ofBytes: 4000 })).toBe(
      "packing: 3 of 10 files, 0 B of 4.0 kB",
    );
    // There may be more files by now than were counted.
    expect(progressText({ what: "packing", files: 11, ofFiles: 10 })).toBe("packing: 11 files");
    expect(progressText({ what: "bad\u001b[2J" })).not.toContain("\u001b");
  });

  it("is redrawn in place at a terminal, cut to its width, and cleared before other output", () => {
    const { display, clock, take } = onScreen(true, 40);
    display.step({ what: "packing" });
    expect(take()).toBe("");
    clock.nowMs = 200;
    display.tick();
    expect(take()).toMatch(/^<clear>\S packing, 0 s$/);
    clock.nowMs = 3000;
    display.step({ what: "packing", files: 3 });
    expect(take()).toMatch(/^<clear>\S packing: 3 files, 3 s$/);
    display.step({ what: "packing", files: 4 });
    expect(take()).toBe("");
    display.clear();
    expect(take()).toBe("<clear>");
    display.clear();
    expect(take()).toBe("");
    clock.nowMs = 4000;
    display.step({ what: "x".repeat(100) });
    expect(take().replace("<clear>", "")).toHaveLength(39);
    // Output of a task that has no line end yet is not overwritten.
    display.clear();
    display.wrote("o".charCodeAt(0));
    take();
    clock.nowMs = 5000;
    display.tick();
    expect(take()).toMatch(/^\n\S xxx/);
    display.end();
    expect(take()).toBe("<clear>");
    clock.nowMs = 9000;
    display.tick();
    expect(take()).toBe("");
    expect(process.listenerCount("SIGINT")).toBe(0);
  });

  it("is printed elsewhere after a second, then every few seconds if it changed; never for quick work", () => {
    const { display, clock, take } = onScreen(false);
    display.step({ what: "packing", files: 1 });
    clock.nowMs = 900;
    display.step({ what: "packing", files: 2 });
    display.end();
    expect(take()).toBe("");

    clock.nowMs = 10_000;
    display.step({ what: "packing", files: 1 });
    clock.nowMs = 11_000;
    display.tick();
    expect(take()).toBe("packing: 1 file, 1 s\n");
    clock.nowMs = 15_900;
    display.step({ what: "packing", files: 2 });
    expect(take()).toBe("");
    clock.nowMs = 16_000;
    display.tick();
    expect(take()).toBe("packing: 2 files, 6 s\n");
    clock.nowMs = 80_000;
    display.tick();
    expect(take()).toBe("");
    display.step({ what: "syncing" });
    expect(take()).toBe("syncing, 1 min 10 s\n");
    display.end();
    expect(take()).toBe("");
  });

  it("is cleared at Ctrl-C, which still ends the command", async () => {
    const path = join(import.meta.dirname, "..", "..", "src", "cli", "progress.ts");
    const program = `const { ProgressDisplay } = await import(${JSON.stringify(path)});
      const target = { isTTY: true, write: (text) => process.stdout.write(text) };
      const display = new ProgressDisplay(target);
      setInterval(() => display.step({ what: "packing" }), 10);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let screen = "";
    child.stdout.on("data", (data: Buffer) => {
      if (!screen.includes("packing")) child.kill("SIGINT");
      screen += data.toString();
    });
    const [, signal] = await once(child, "close");
    expect(signal).toBe("SIGINT");
    expect(screen).toMatch(/packing, 0 s/);
    expect(screen.endsWith("\r\u001b[K")).toBe(true);
  });

  it("gets only about ten updates a second from a meter", () => {
    const steps: Progress[] = [];
    let nowMs = 0;
    const meter = new Meter(
      (step) => steps.push(step),
      "reading",
      { ofFiles: 1000 },
      () => nowMs,
    );
    for (let file = 0; file < 1000; file += 1) {
      nowMs += 1;
      meter.add({ files: 1, bytes: 10 });
    }
    expect(steps[0]).toEqual({ what: "reading", ofFiles: 1000 });
    expect(steps.at(-1)).toEqual({ what: "reading", ofFiles: 1000, files: 1000, bytes: 10_000 });
    expect(steps).toHaveLength(11);
  });
});
