/**
 * Owns the directory of one capsule and its description. A capsule exists when its `capsule.json` says that
 * it is whole; anything else was never finished.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { HoldfastError } from "../../contract/index.ts";
import { findOutsideProgram, type Holder } from "../../process/index.ts";
import {
  type Disk,
  openSealedJson,
  parseIdentity,
  parseObject,
  readIfThere,
  readTextOr,
  replaceFile,
  sealJson,
} from "../../util/index.ts";

export const strategyNames = ["overlay", "worktree", "clone"] as const;
export type StrategyName = (typeof strategyNames)[number];

const commit = z.nullable(z.string());
const schema = z.object({
  isWhole: z.boolean(),
  strategy: z.enum(strategyNames),
  session: z.string(),
  task: z.int(),
  repo: z.string(),
  base: commit,
  lower: commit,
  setup: z.string(),
  setupKey: z.string(),
  /** The key of its base in the cache; null if the files were checked out for this capsule alone. */
  baseKey: z.nullable(z.string()),
  branch: z.string(),
  /** Sealed layers between the base and the upper one, topmost first. Each is named after its snapshot. */
  stack: z.array(z.string()),
  /** A layer that is being sealed. Its rename may or may not have happened. */
  sealing: z.nullable(z.string()),
  /** The snapshot that its files certainly are: nothing was started in the capsule since. */
  settled: z._default(z.nullable(z.string()), null),
  /** The task that it belonged to, until the task that it was handed on to is on record. */
  previous: z._default(z.nullable(z.object({ task: z.int(), base: commit })), null),
  ports: z.record(z.string(), z.int()),
  /** The files that `include` brought in, with the ids of their contents. */
  included: z.record(z.string(), z.string()),
  umask: z.int(),
  /**
   * Whether its processes run in a sandbox. A capsule that was made before this was recorded may have had
   * one.
   */
  isSandboxed: z._default(z.boolean(), findOutsideProgram("bwrap") !== undefined),
});
export type CapsuleSpec = z.infer<typeof schema>;

export class CapsuleDir {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  get specFile(): string {
    return join(this.dir, "capsule.json");
  }

  get holderFile(): string {
    return join(this.dir, "holder.json");
  }

  /** Where the files are, or where they are mounted. */
  get tree(): string {
    return join(this.dir, "tree");
  }

  get upper(): string {
    return join(this.dir, "upper");
  }

  get work(): string {
    return join(this.dir, "work");
  }

  /** The listing of what set-up left, in a tree of its own. */
  get listingFile(): string {
    return join(this.dir, "listing.json");
  }

  async isThere(): Promise<boolean> {
    return existsSync(this.specFile) && (await this.readSpec().catch(() => undefined))?.isWhole === true;
  }

  async make(): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
  }

  async readSpec(): Promise<CapsuleSpec> {
    const bytes = await readIfThere(this.specFile);
    const parsed = schema.safeParse(bytes && openSealedJson(bytes));
    if (!parsed.success)
      throw new HoldfastError("no_capsule", `there is no capsule in ${this.dir}`, { path: this.dir });
    return parsed.data;
  }

  async writeSpec(disk: Disk, spec: CapsuleSpec): Promise<void> {
    await replaceFile(disk, this.specFile, sealJson(spec));
  }

  async writeHolder(holder: Holder): Promise<void> {
    await writeFile(this.holderFile, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  }

  readHolder(): Holder | undefined {
    const value = parseObject(readTextOr(this.holderFile, ""));
    const identity = parseIdentity(value);
    const { mountNamespace, netNamespace, mount } = value ?? {};
    if (!identity || typeof mountNamespace !== "string") return undefined;
    const textOf = (field: unknown) => (typeof field === "string" ? field : undefined);
    return { ...identity, mountNamespace, netNamespace: textOf(netNamespace), mount: textOf(mount) };
  }
}

/**
 * Where a person can work on the files of a capsule; undefined if they are mounted only for its processes.
 */
export const plainPath = (
  layout: CapsuleDir,
  { strategy }: Pick<CapsuleSpec, "strategy">,
): string | undefined => (strategy === "overlay" ? undefined : layout.tree);
