/**
 * The network of a task again, as an ordinary user: with user namespaces instead of root's rights.
 */
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { asNobody, tempOfNobody, testsAgain, whyNotNobody } from "../support/nobody.ts";

const isRoot = process.getuid?.() === 0;
const reason = isRoot ? whyNotNobody : "these tests run as one already";
if (reason) console.log(`left out: the network of a task as an ordinary user: ${reason}`);

describe.skipIf(reason !== undefined || !hasSandbox)("an ordinary user", () => {
  it("passes the same tests of the network of a task", () => {
    using temp = tempOfNobody();
    const files = [
      "test/network/task-network.test.ts",
      "test/network/smuggling.test.ts",
      "test/process/opener.test.ts",
    ];
    expect(testsAgain(asNobody, temp, files)).toContain("the network of a task as an ordinary user");
  });
});
