/**
 * Compares what a conformance run sees of an agent with its manifest. With HOLDFAST_MANIFEST=write, what was
 * seen becomes the manifest; otherwise every difference is a failure. One is not: an agent may remember a call
 * that its manifest says it forgets, because it stores its calls at moments of its own. A manifest promises
 * only what an agent always does.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Capability, capabilities, type Manifest, manifestOf } from "../../src/agent/index.ts";

const path = join(import.meta.dirname, "..", "..", "src", "agent", "manifests.json");
export const isWriting = process.env["HOLDFAST_MANIFEST"] === "write";

const MEMORY: readonly Capability[] = ["remembersOpenCalls", "remembersGateCalls"];

export class Observed {
  readonly #agent: string;
  readonly #version: string;
  readonly #can = new Map<Capability, boolean>();

  constructor(agent: string, version: string) {
    this.#agent = agent;
    this.#version = version;
  }

  saw(capability: Capability, isSo: boolean): void {
    this.#can.set(capability, isSo);
    if (isWriting) return;
    const manifest = manifestOf(this.#agent, this.#version);
    if (isSo && MEMORY.includes(capability)) return;
    const words = `${this.#agent} ${this.#version}: can ${capabilities[capability]}`;
    expect(isSo, words).toBe(manifest?.can[capability]);
  }

  /** Only if every capability was seen: a manifest is complete. */
  write(): void {
    const names = Object.keys(capabilities) as Capability[];
    const missing = names.filter((name) => !this.#can.has(name));
    if (!isWriting || missing.length > 0) return;
    const can = Object.fromEntries(names.map((name) => [name, this.#can.get(name)])) as Manifest["can"];
    const triedOn = new Date().toISOString().slice(0, 10);
    const own: Manifest = { agent: this.#agent, version: this.#version, triedOn, can };
    const all: Manifest[] = JSON.parse(readFileSync(path, "utf8"));
    const others = all.filter(({ agent, version }) => agent !== own.agent || version !== own.version);
    // By agent; for each agent, the version that was tried last comes last.
    const sorted = [...others, own].sort((a, b) => a.agent.localeCompare(b.agent));
    writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`);
  }
}
