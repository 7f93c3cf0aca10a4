import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactSecrets } from "../../src/memory/index.ts";
import { MARKS } from "../../src/memory/rules.ts";

const token = ["ghp", "abcdefghijABCDEFGHIJ0123456789abcdef"].join("_");
const awsKey = "kWcrlUX5JEDGM/LtmEENI/aVmYvHNif5zB+d9+ct";
const one = async (data: Parameters<typeof redactSecrets>[0][number]) => (await redactSecrets([data]))[0];

describe("redaction", () => {
  it("R1 takes a secret out whole, also where its rule reports too short a range", async () => {
    const result = await one({ text: `aws_secret_access_key = ${awsKey} and more` });
    expect(JSON.stringify(result)).not.toContain(awsKey.slice(-10));
    expect(result?.rules).toEqual(["aws"]);
  });

  it("R1 knows a secret by the name before it, in structured data too", async () => {
    const result = await one({ args: { env: { AWS_SECRET_ACCESS_KEY: awsKey, PATH: "/usr/bin" } } });
    expect(JSON.stringify(result)).not.toContain(awsKey);
    expect(result?.data).toMatchObject({ args: { env: { PATH: "/usr/bin" } } });
  });

  it("R1 looks at a text as the file that it may be a part of", async () => {
    const uuid = "01234567-89ab-4cde-8f01-23456789abcd";
    const result = await one({ output: `//registry.example.org/:_authToken=${uuid}` });
    expect(JSON.stringify(result)).not.toContain(uuid);
  });

  it("R1 a rule that is passed over for want of its mark could have found nothing", async () => {
    const { creator } = await import("@secretlint/secretlint-rule-preset-recommend");
    const patterns = new Map<string, Set<string>>();
    const handlers: [string, { file?(source: unknown): unknown }][] = [];
    const registerRule = (rule: unknown, defaults?: { options?: object }) => {
      const { meta, create } = rule as {
        meta: { id: string };
        create(context: object, options: object): { file?(source: unknown): unknown };
      };
      const context = {
        sharedOptions: {},
        report: () => {},
        ignore: () => {},
        createTranslator: () => () => ({}),
      };
      handlers.push([
        meta.id.replace("@secretlint/secretlint-rule-", ""),
        create(context, defaults?.options ?? {}),
      ]);
    };
    creator.create({ sharedOptions: {}, registerRule } as never, {});
    for (const [rule, { file }] of handlers) {
      // A text that tells which patterns it is asked for.
      class Asked extends String {
        override matchAll(pattern: RegExp) {
          patterns.set(rule, (patterns.get(rule) ?? new Set()).add(pattern.source));
          return super.matchAll(pattern);
        }
      }
      for (const [filePath, ext] of [
        ["record.txt", ".txt"],
        [".npmrc", ""],
        [".docker/config.json", ".json"],
        ["key.json", ".json"],
      ]) {
        await file?.({ content: new Asked("nothing"), filePath, ext, contentType: "text" });
      }
    }
    let drawn = 0;
    for (const [rule, marks] of Object.entries(MARKS)) {
      const sources = patterns.get(rule);
      expect(sources?.size, rule).toBeGreaterThan(0);
      for (const source of sources ?? []) {
        const plain = source.replace(/\(\?<?!(?:\[[^\]]*\]|\\p\{L\}|\\w)\)/g, "").replaceAll("\\b", "");
        fc.assert(
          fc.property(fc.stringMatching(new RegExp(`^(?:${plain})$`)), (secret) => {
            drawn += 1;
            expect(
              marks.some((mark) => secret.includes(mark)),
              `${rule}: ${secret}`,
            ).toBe(true);
          }),
          { numRuns: 30 },
        );
      }
    }
    expect(drawn).toBeGreaterThan(500);
  });

  it("R2 what one record holds changes nothing in another of the same batch, and no field loses its name", async () => {
    const key = "MIIEpAIBAAKCAQEA7".repeat(20);
    const batch = [
      { turn: 1, role: "assistant", content: `-----BEGIN RSA PRIVATE KEY-----\n${key}` },
      { turn: 1, role: "assistant", content: key },
      { turn: 1, role: "assistant", content: `${key}\n-----END RSA PRIVATE KEY-----` },
      { turn: 1, role: "assistant", content: `a ${token} b` },
    ];
    const together = await redactSecrets(batch);
    const alone = await Promise.all(batch.map(one));
    expect(together).toEqual(alone);
    for (const { data } of together) expect(Object.keys(data)).toEqual(["turn", "role", "content"]);
    expect(together[3]?.data["content"]).toBe("a [redacted:github] b");
  });

  it("R2 a batch gives what its records give alone, whatever they are", async () => {
    const text = fc.oneof(
      fc.string(),
      fc.constant(token),
      fc.constant("-----BEGIN PRIVATE KEY-----\nQUJD"),
      fc.constant("QUJD\n-----END PRIVATE KEY-----"),
      fc.string().map((around) => `${around} ${token} ${around}`),
    );
    const data = fc.dictionary(fc.string(), fc.oneof(text, fc.array(text), fc.dictionary(text, text)), {
      maxKeys: 4,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(data, { maxLength: 5 }), async (batch) => {
        const together = await redactSecrets(batch);
        expect(together).toEqual(await Promise.all(batch.map(one)));
        expect(JSON.stringify(together)).not.toContain(token);
      }),
      { numRuns: 200 },
    );
  });

  it("concurrent batches do not mix", async () => {
    const batches = Array.from({ length: 40 }, (_, index) => [
      { text: index % 2 ? `x ${token}` : `clean ${index}` },
    ]);
    const results = await Promise.all(batches.map((batch) => redactSecrets(batch)));
    for (const [index, [result]] of results.entries())
      expect(result?.rules).toEqual(index % 2 ? ["github"] : []);
  });
});
