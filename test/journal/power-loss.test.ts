/**
 * Power fails at any step and takes what no sync covered: part or all of it, in any order.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../src/contract/index.ts";
import { memoryDir, TempDir } from "../support/home.ts";
import { custom, makeSessionDir, openForTest, readAll } from "../support/journal.ts";
import { PowerLoss, PowerLossDisk } from "../support/power-loss-disk.ts";

describe("power loss", () => {
  it("journal-1 journal-4 never takes an acknowledged record and never leaves a journal that can't be opened", async () => {
    let torn = 0;
    await fc.assert(
      fc.asyncProperty(
        // Sizes of batches, how long each record is, when power fails, and what is lost then.
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
        fc.constantFrom(10, 1500, 6000, 40_000),
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.boolean(), { minLength: 64, maxLength: 64 }),
        async (batches, length, dieAt, losses) => {
          using dir = new TempDir(memoryDir);
          const session = makeSessionDir(dir.join("s"));
          const disk = new PowerLossDisk(dir.join("attic"), dieAt);
          const acknowledged: number[] = [];
          let number = 0;
          try {
            const { writer } = await openForTest(session, { disk });
            for (const size of batches) {
              const batch = Array.from({ length: size }, () => {
                number += 1;
                // Many short fields stay in the line, so that a batch spans pages.
                const fields = Object.fromEntries(
                  Array.from({ length: Math.ceil(length / 1000) }, (_, index) => [
                    `f${index}`,
                    "x".repeat(Math.min(length, 1000)),
                  ]),
                );
                return writer.append(...custom(number, fields)).then(({ seq }) => acknowledged.push(seq));
              });
              const results = await Promise.allSettled(batch);
              const failed = results.find((result) => result.status === "rejected");
              if (failed) throw failed.reason;
            }
          } catch (error) {
            if (!(error instanceof PowerLoss) && !isHoldfastError(error, "append_failed")) throw error;
          }
          let index = 0;
          disk.losePower(() => losses[index++ % losses.length] as boolean);

          const { writer, found, recovery } = await openForTest(session);
          if (recovery.tornBytes > 0) torn += 1;
          expect(found.map(({ seq }) => seq)).toEqual(found.map((_, position) => position + 1));
          expect(found.map(({ data }) => data["number"])).toEqual(found.map((_, position) => position + 1));
          expect(found.length).toBeGreaterThanOrEqual(acknowledged.length);
          await writer.append(...custom(number + 1));
          await writer.close({ witness: true });
          expect(await readAll(session)).toHaveLength(found.length + 1);
        },
      ),
      { numRuns: 400 },
    );
    // The property is about torn tails: without one it would prove nothing.
    expect(torn).toBeGreaterThan(10);
  });

  it("journal-6 at any step of a rollover loses no acknowledged record", async () => {
    for (let dieAt = 1; ; dieAt += 1) {
      using dir = new TempDir(memoryDir);
      const session = makeSessionDir(dir.join("s"));
      const disk = new PowerLossDisk(dir.join("attic"), dieAt);
      let acknowledged = 0;
      let isFinished = false;
      try {
        const { writer } = await openForTest(session, { disk });
        for (let number = 1; number <= 12; number += 1) {
          const fields = Object.fromEntries(
            Array.from({ length: 40 }, (_, index) => [`f${index}`, "r".repeat(4000)]),
          );
          await writer.append(...custom(number, fields));
          acknowledged = number;
        }
        await writer.close({ witness: true });
        isFinished = true;
      } catch (error) {
        if (!(error instanceof PowerLoss) && !isHoldfastError(error, "append_failed")) throw error;
      }
      disk.losePower(() => true);
      const { writer, found } = await openForTest(session);
      expect(found.length, `died at step ${dieAt}`).toBeGreaterThanOrEqual(acknowledged);
      await writer.close({ witness: true });
      if (isFinished) {
        expect(writer.head.segment).toBeGreaterThan(2);
        expect(dieAt).toBeGreaterThan(30);
        return;
      }
    }
  });
});
