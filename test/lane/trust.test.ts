/**
 * What a person accepted of a repo's file: each acceptance is stored as one, even if several are made at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  acceptedPart,
  accepting,
  changeTrust,
  declining,
  judge,
  noTrust,
  readTrust,
  type Trust,
  type Widening,
  wideningsOf,
} from "../../src/lane/index.ts";
import { hashOf } from "../../src/lane/trust.ts";
import { realDisk, trustDir } from "../../src/util/index.ts";
import { configs } from "../support/configs.ts";
import { TestHome } from "../support/home.ts";

const word = (value: string, key = "capsule.include"): Widening => ({ key, value });
const AT = "2026-01-01T00:00:00.000Z";
const having = (...sets: Widening[][]): Trust =>
  sets.reduce<Trust>((trust, words) => accepting(trust, words, AT), noTrust);
const openIn = (trust: Trust, ...words: Widening[]) => judge(trust, words).open.map(({ value }) => value);

describe("trust", () => {
  it("trust-2 words count if one acceptance has them all, and two acceptances are not combined", () => {
    const trust = having([word("a"), word("b")], [word("c", "setup_hosts")]);
    expect(openIn(trust, word("a"), word("b"))).toEqual([]);
    expect(openIn(trust, word("b"))).toEqual([]);
    expect(openIn(trust, word("c", "setup_hosts"))).toEqual([]);
    expect(openIn(trust, word("a"), word("c", "setup_hosts"))).toEqual(["a"]);
    expect(openIn(trust, word("a"), word("b"), word("c", "setup_hosts"))).toEqual(["c"]);
    // The same value for another key is another word.
    expect(openIn(trust, word("a", "setup_hosts"))).toEqual(["a"]);
  });

  it("trust-2 the words that count of any file were accepted together", () => {
    fc.assert(
      fc.property(fc.array(configs, { maxLength: 4 }), configs, (before, config) => {
        const trust = having(...before.map((one) => wideningsOf(one)));
        const { counts, open } = judge(trust, wideningsOf(config));
        const left = wideningsOf(acceptedPart(config, counts));
        expect(openIn(trust, ...left)).toEqual([]);
        const isKnown = before.some((one) => hashOf(wideningsOf(one)) === hashOf(wideningsOf(config)));
        if (isKnown) expect(open).toEqual([]);
      }),
    );
  });

  it("the hash depends on the words but not on their order", () => {
    expect(hashOf([word("a"), word("b"), word("a")])).toBe(hashOf([word("b"), word("a")]));
    expect(hashOf([word("a")])).not.toBe(hashOf([word("b")]));
  });

  it("words that were declined stay declined until they are accepted", () => {
    const declined = declining(noTrust, [word("a")]);
    expect(judge(declined, [word("a")])).toMatchObject({ isDeclined: true, open: [word("a")] });
    expect(judge(declined, [word("b")]).isDeclined).toBe(false);
    expect(judge(accepting(declined, [word("a")], AT), [word("a")])).toMatchObject({
      isDeclined: false,
      open: [],
    });
  });

  it("is stored for each repo in a file that only its user can read; a changed or linked file counts as empty", async () => {
    using home = new TestHome();
    const place = { homeDir: home.path, repo: "app-0123" };
    expect(readTrust(place)).toEqual(noTrust);
    await changeTrust(place, realDisk, (trust) => accepting(trust, [word("a")], AT));
    await changeTrust(place, realDisk, (trust) => accepting(trust, [word("b")], AT));
    expect(readTrust(place).accepted.map(({ words }) => words)).toEqual([
      ['["capsule.include","a"]'],
      ['["capsule.include","b"]'],
    ]);
    expect(readTrust({ ...place, repo: "other-4567" })).toEqual(noTrust);
    const path = join(trustDir(home.path), "app-0123.json");
    expect([path, trustDir(home.path)].map((one) => statSync(one).mode & 0o777)).toEqual([0o600, 0o700]);
    const bytes = readFileSync(path, "utf8");
    writeFileSync(path, bytes.replace('\\"a\\"', '\\"z\\"'));
    expect(readTrust(place)).toEqual(noTrust);
    const other = { ...place, repo: "linked" };
    symlinkSync(path, join(trustDir(home.path), "linked.json"));
    writeFileSync(path, bytes);
    expect(readTrust(other)).toEqual(noTrust);
    expect(readTrust(place).accepted).toHaveLength(2);
  });

  it("acceptances that several processes make at the same time are all kept", async () => {
    using home = new TestHome();
    const fixture = join(import.meta.dirname, "..", "fixtures", "accept-words.ts");
    const ends = Array.from({ length: 4 }, (_, at) =>
      once(spawn(process.execPath, [fixture, home.path, `${at}`], { stdio: "inherit" }), "exit"),
    );
    expect((await Promise.all(ends)).map(([status]) => status)).toEqual([0, 0, 0, 0]);
    const { accepted } = readTrust({ homeDir: home.path, repo: "app" });
    expect(accepted).toHaveLength(4 * 5);
  });
});
