/**
 * What the conformance tests of capsules need: the strategies that this machine can do, and the files of a
 * capsule.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeWork, probeStrategies, type Snapshot, userIdentity } from "../../src/capsule/index.ts";
import type { CapsuleLab } from "./capsules.ts";
import { listTree } from "./repo.ts";

const probeDir = mkdtempSync(join(tmpdir(), "holdfast-test-"));
export const available = (await probeStrategies(probeDir)).filter(({ isAvailable }) => isAvailable);
rmSync(probeDir, { recursive: true });
const who = process.getuid?.() === 0 ? "root" : "an ordinary user";
console.log(
  `capsules as ${who}: ${available.map(({ strategy, detail }) => `${strategy} (${detail})`).join(", ")}`,
);

const notGit = (path: string) => path === ".git" || path.startsWith(".git/");
/** The files of a capsule, without its own gitdir. */
export const filesOf = async (capsule: { attach(): Promise<{ root: string }> }) =>
  listTree((await capsule.attach()).root, notGit);
export const treeOf = async (
  lab: CapsuleLab,
  { manifest, contents, converted }: Snapshot,
  store: Awaited<ReturnType<typeof storeOf>>,
) => {
  const repo = await lab.repo();
  return makeWork({
    repo,
    store,
    manifest,
    contents,
    converted,
    identity: await userIdentity(repo),
    message: "work\n",
    atMs: 0,
  });
};
export const storeOf = (capsule: Awaited<ReturnType<CapsuleLab["create"]>>) => capsule.store();
