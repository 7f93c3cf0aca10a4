/**
 * Fifty sessions at once: each puts markers in every place that it has, and no other session sees them.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, script, until } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

const SESSIONS = 50;
const marker = (index: number) => `MARKER_${String(index).padStart(3, "0")}_END`;
const anyMarker = /MARKER_[0-9]{3}_END/g;

if (!hasSandbox) console.log("left out: fifty sessions side by side: bubblewrap is not installed");

describe("fifty sessions at once", () => {
  it.skipIf(!hasSandbox)(
    "share no file, message, port, token, variable or log line",
    { timeout: 400_000 },
    async () => {
      using home = new HostHome();
      commitFiles(home.main, { "holdfast.yaml": "capsule: { ports: [PORT] }\n" }, "ports");
      const dispatcher = await home.dispatcher();
      const begun = await Promise.all(
        Array.from({ length: SESSIONS }, async (_, index) => {
          const mine = marker(index);
          // The marker goes into its files, its HOME, its TMPDIR, a shared name in /tmp, its environment and
          // its output. Then it writes down everything that it can see of all that, and its port.
          const text = `
            export MINE=${mine}; echo ${mine} | tee file.txt $HOME/h $TMPDIR/t /tmp/shared; echo ${mine} >&2
            sleep 4
            { cat file.txt $HOME/h $TMPDIR/t /tmp/shared; env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'
              cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'
              ls -R /tmp ${home.dir} 2>/dev/null; cat $HOLDFAST_TOKEN_FILE; } > seen.txt; echo $PORT > port.txt; true`;
          const { id } = await dispatcher.begin({ repo: home.main, title: mine }, script(text));
          await dispatcher.send(id, `message ${mine}`).catch(() => {});
          return id;
        }),
      );
      const alive = await until(
        async () => (await dispatcher.list()).filter(({ pid }) => pid !== null).length,
      );
      expect(alive).toBeGreaterThan(1);
      await until(
        async () => (await dispatcher.list()).filter(({ status }) => status === "paused").length,
        (paused) => paused === SESSIONS,
        300_000,
      );
      const ports = new Set<string>();
      const tokens = begun.map((id) => readFileSync(home.sessionDir(id, "token"), "utf8").trim());
      expect(new Set(tokens).size).toBe(SESSIONS);
      for (const [index, id] of begun.entries()) {
        const at = `${home.branchOf(id)}`;
        const show = (file: string) =>
          execFileSync("git", ["show", `${at}:${file}`], { cwd: home.main, encoding: "utf8" });
        expect(show("file.txt").trim()).toBe(marker(index));
        const seen = show("seen.txt");
        expect(new Set(seen.match(anyMarker)), `what ${index} saw`).toEqual(new Set([marker(index)]));
        // It may have its own token, but no other one.
        for (const [other, token] of tokens.entries()) if (other !== index) expect(seen).not.toContain(token);
        expect(seen).not.toMatch(new RegExp(`sess_(?!${id.slice(5)})[0-9a-z]{26}`));
        ports.add(show("port.txt").trim());
        // On disk: journal, blobs, inbox, logs, HOME, TMPDIR.
        expect(markersBelow(home.sessionDir(id)), `the directory of ${index}`).toEqual(
          new Set([marker(index)]),
        );
      }
      expect(ports.size).toBe(SESSIONS);
      await home.quiet();
      expect(home.strays()).toEqual([]);
      expect(readdirSync(join(home.dir, "line")).filter((name) => name.endsWith(".json"))).toEqual([]);
    },
  );
});

function markersBelow(dir: string): Set<string> {
  // Only root can read an overlay's work directory. Nothing else may be left out.
  const { stdout, stderr } = spawnSync("grep", ["-rhaoE", anyMarker.source, dir], {
    encoding: "utf8",
    maxBuffer: 64e6,
  });
  expect(
    stderr.split("\n").filter((line) => line !== "" && !/\/work: Permission denied$/.test(line)),
  ).toEqual([]);
  return new Set(stdout.trim().split("\n"));
}
