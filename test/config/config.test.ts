/**
 * holdfast.yaml as somebody wrote it who means no good, or who was careless.
 */
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/index.ts";

/** Each line holds the one before ten times. */
const bomb = [
  "bomb:",
  "  - &l0 [x, x, x, x, x, x, x, x, x, x]",
  ...Array.from({ length: 9 }, (_, at) => `  - &l${at + 1} [${Array(10).fill(`*l${at}`).join(", ")}]`),
].join("\n");

describe("holdfast.yaml", () => {
  it.each([
    ["aliases that unfold to far too much", bomb, 4],
    ["an alias for nothing", "capsule:\n  ports: []\n  setup: *nothing\n", 3],
    ["an alias for itself", "capsule:\n  include: &all\n    - *all\n", 3],
    ["keys in keys in keys", `capsule: {}\n${"? ".repeat(300)}x\n`, 2],
    ["more brackets than a parser can take", `capsule:\n  ports: ${"[".repeat(20_000)}`, 2],
  ])("%s: its line is named", async (_, text, line) => {
    await expect(parseConfig(text)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(`holdfast.yaml:${line}: `),
      facts: { line },
    });
  });

  it("an alias for what is there is as good as what it stands for", async () => {
    const text = "capsule:\n  setup: &first make\n  include: [*first, b]\n";
    expect((await parseConfig(text)).capsule).toMatchObject({ setup: "make", include: ["make", "b"] });
  });
});
