/**
 * The tools for files again, as an ordinary user: what root may do says little about what others may.
 */
import { describe, expect, it } from "vitest";
import { asNobody, tempOfNobody, testsAgain, whyNotNobody } from "../support/nobody.ts";

const isRoot = process.getuid?.() === 0;

describe("an ordinary user", () => {
  const reason = isRoot ? whyNotNobody : "these tests run as one already";
  if (reason) console.log(`left out: the tools for files as an ordinary user: ${reason}`);

  it.skipIf(reason !== undefined)("has tools for files that do the same", () => {
    using temp = tempOfNobody();
    expect(testsAgain(asNobody, temp, ["test/gateway/file-tools"])).toContain("passed");
  });
});
