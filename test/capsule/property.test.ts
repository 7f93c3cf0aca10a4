/**
 * Random edits of random trees: whatever a task does to its files, its snapshots have them.
 */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { CapsuleLab, limits } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, listTree } from "../support/repo.ts";

const available = await (async () => {
  using temp = new TempDir();
  const probes = await Promise.all((["overlay", "worktree"] as const).map((one) => probe(one, temp.path)));
  return probes.filter(({ isAvailable }) => isAvailable);
})();

const name = fc.constantFrom("a", "b", "c d", "é", "n\nl", "-x", ".hidden", "ignored.log", "Git");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const content = fc.uint8Array({ maxLength: 60 });
const edit = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      path,
      content,
      mode: fc.constantFrom(0o644, 0o755, 0o600),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("mkdir" as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), path }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("link" as const), path, target: path }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("chmod" as const),
      path,
      mode: fc.constantFrom(0o700, 0o750, 0o755),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("move" as const), path, to: path }) },
);
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

/** Some edits are impossible, such as a path below a file. They are left out. */
function apply(root: string, one: Edit): void {
  const at = join(root, one.path);
  try {
    if (one.do === "write") {
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, one.content);
      chmodSync(at, one.mode);
    } else if (one.do === "mkdir") mkdirSync(at, { recursive: true });
    else if (one.do === "remove") rmSync(at, { recursive: true, force: true });
    else if (one.do === "link") symlinkSync(one.target, at);
    else if (one.do === "chmod") chmodSync(at, one.mode);
    else renameSync(at, join(root, one.to));
  } catch {}
}

const edits = fc.array(edit, { maxLength: 12 });

describe.each(available)("$strategy", ({ strategy }) => {
  it("files-2 files-3 snapshot-1 a snapshot of any turn restores exactly that turn's files after a teardown", async () => {
    await fc.assert(
      fc.asyncProperty(edits, fc.array(edits, { minLength: 1, maxLength: 4 }), async (first, turns) => {
        await using lab = new CapsuleLab(strategy, {
          files: { ".gitignore": "*.log\n", "a/b": "b", "c d/é": "x" },
        });
        for (const one of first) apply(lab.main, { ...one, path: `base/${one.path}` } as Edit);
        commitFiles(lab.main, {}, "a random base");
        const files = async (capsule: Awaited<ReturnType<typeof lab.create>>) =>
          listTree((await capsule.attach()).root, (at) => at === ".git" || at.startsWith(".git/"));
        const capsule = await lab.create();
        const seen: { commit: string; files: Map<string, string> }[] = [];
        for (const [number, turn] of turns.entries()) {
          const { root } = await capsule.attach();
          for (const one of turn)
            apply(root, number % 2 === 0 ? ({ ...one, path: `base/${one.path}` } as Edit) : one);
          const snapshot = await capsule.snapshot(String(number), limits);
          seen.push({ commit: snapshot.commit, files: await files(capsule) });
          if (number % 2 === 0) await capsule.settle(snapshot);
        }
        await lab.remove(capsule);
        const last = seen.at(-1);
        const again = await lab.restore(last?.commit ?? "", capsule.spec.session);
        expect(await files(again)).toEqual(last?.files);
        for (const one of seen) {
          const fork = await lab.restore(one.commit);
          expect(await files(fork)).toEqual(one.files);
          await lab.remove(fork);
        }
      }),
      { numRuns: process.env["HOLDFAST_LONG"] ? 300 : 10, interruptAfterTimeLimit: 60 * 60_000 },
    );
  });
});
