import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { TempDir } from "../support/home.ts";

/** As root a mount namespace is enough; an ordinary user needs a user namespace around it. */
function namespace(): string[] | undefined {
  for (const flags of [["-m"], ["-Urm"]]) {
    try {
      execFileSync("unshare", [...flags, "true"], { stdio: "ignore" });
      return ["unshare", ...flags];
    } catch {
      // Not allowed here.
    }
  }
  return undefined;
}

describe("a disk that is full", () => {
  it("refuses the append with a code, goes on reading, and goes on writing when there is space again", async (context) => {
    const via = namespace();
    if (!via) context.skip("this machine gives no mount namespace, so no small disk can be made");
    using dir = new TempDir();
    mkdirSync(dir.join("mount"));
    await using child = new TestChild("fill-disk.ts", [dir.join("mount")], { via: via as string[] });
    const result = JSON.parse(await child.line((line) => line.startsWith("{")));
    expect(result).toMatchObject({
      codes: ["disk_full"],
      opening: "disk_full",
      isReadable: true,
      isSame: true,
      findings: [],
    });
    expect(result.before).toBeGreaterThan(0);
    expect(result.after).toBe(result.before + 20);
  });
});
