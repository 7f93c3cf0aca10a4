/**
 * Runs the tests of the file tools again as an ordinary user, because root passes checks that others don't.
 */
import { describe, expect, it } from "vitest";
import { asNobody, tempOfNobody, testsAgain, whyNotNobody } from "../support/nobody.ts";

const isRoot = process.getuid?.() === 0;

describe("an ordinary user", () => {
  const reason = isRoot ? whyNotNobody : "these tests run as one already";
  if (reason) console.log(`left out: the tools for files as an ordinary user: ${reason}`);

  it.skipIf(reason !== undefined)("gets file tools that pass the same tests", () => {
    using temp = tempOfNobody();
    expect(testsAgain(asNobody, temp, ["test/gateway/file-tools"])).toContain("passed");
  });
});
