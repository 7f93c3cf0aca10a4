/**
 * The first process of a sandbox is bubblewrap's own. As an ordinary user, it belongs to the same user as the
 * command, which may trace it and make it start others: so the limits have to hold for it too.
 */
import { afterAll, describe, expect, it } from "vitest";
import { callers, Lab, leaveOut, whyNoAttacks } from "../support/attacks.ts";

const SUBJECT = "the limits of a sandbox's first process";
if (whyNoAttacks) leaveOut(SUBJECT, whyNoAttacks);
const caller = callers.find(({ name }) => name === "an ordinary user");
if (caller?.why) leaveOut(SUBJECT, caller.why);

describe.skipIf(whyNoAttacks ?? caller?.why)(SUBJECT, () => {
  const lab = caller && new Lab(caller);
  afterAll(() => lab?.[Symbol.dispose]());

  it("are those of its commands", async () => {
    const of = (process: string) => ({
      title: process,
      script: `grep -E "^Max (file size|open files|processes|core file size) " /proc/${process}/limits`,
    });
    const said = await lab?.attack([of("1"), of("self")]);
    const limits = said?.get("self");
    expect(limits).toMatch(/^Max file size +1073741824 +1073741824 /m);
    expect(limits).toMatch(/^Max open files +4096 +4096 /m);
    expect(limits).toMatch(/^Max processes +2048 +2048 /m);
    expect(limits).toMatch(/^Max core file size +([01]) +\1 /m);
    expect(said?.get("1")).toBe(limits);
  });
});
