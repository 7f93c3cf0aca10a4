import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactSecrets } from "../../src/redaction/index.ts";
import { MARKS, rulesMarkedIn } from "../../src/redaction/marks.ts";
import { installedPatterns, isAnchored, secretOf } from "../support/secrets.ts";

const token = ["ghp", "abcdefghijABCDEFGHIJ0123456789abcdef"].join("_");
const awsKey = "kWcrlUX5JEDGM/LtmEENI/aVmYvHNif5zB+d9+ct";
const one = async (data: Parameters<typeof redactSecrets>[0][number]) => (await redactSecrets([data]))[0];

/** Strings that a rule takes for secrets. For some rules, hardly any that fits the pattern is one. */
function likely(rule: string, pattern: RegExp): fc.Arbitrary<string> {
  if (rule === "sendgrid") return fc.stringMatching(/^SG\.\w{22}\.\w{43}$/);
  if (rule !== "1password") return secretOf(pattern);
  const json = fc.stringMatching(/^[a-z]{97}$/).map((email) => `{"email":"${email}"}`);
  return json.map((text) => `ops_${Buffer.from(text).toString("base64")}`);
}

function hasPassword({ source }: RegExp, text: string): boolean {
  return new RegExp(source, "i").exec(text)?.groups?.["password"] !== undefined;
}

describe("redaction", () => {
  it("redaction-1 removes a whole secret, even if its rule reports too short a range", async () => {
    const result = await one({ text: `aws_secret_access_key = ${awsKey} and more` });
    expect(JSON.stringify(result)).not.toContain(awsKey.slice(-10));
    expect(result?.rules).toEqual(["aws"]);
  });

  it("redaction-1 knows a secret by the name of its field in structured data", async () => {
    const result = await one({ args: { env: { AWS_SECRET_ACCESS_KEY: awsKey, PATH: "/usr/bin" } } });
    expect(JSON.stringify(result)).not.toContain(awsKey);
    expect(result?.data).toMatchObject({ args: { env: { PATH: "/usr/bin" } } });
  });

  it("redaction-1 finds a secret that its rule looks for only in a certain kind of file", async () => {
    const uuid = "01234567-89ab-4cde-8f01-23456789abcd";
    const result = await one({ output: `//registry.example.org/:_authToken=${uuid}` });
    expect(JSON.stringify(result)).not.toContain(uuid);
  });

  it("redaction-1 a rule that is skipped because its keyword is missing would have found nothing", async () => {
    const patterns = await installedPatterns();
    expect(Object.keys(MARKS).sort()).toEqual([...patterns.keys()].sort());
    // This rule has no pattern: it parses a file that has these fields.
    expect(patterns.get("gcp")).toEqual([]);
    expect(rulesMarkedIn('{"private_key_id":"1","private_key":"-----BEGIN PRIVATE KEY-----"}')).toContain(
      "gcp",
    );
    let drawn = 0;
    for (const [rule, ofRule] of patterns) {
      for (const pattern of ofRule) {
        fc.assert(
          fc.property(secretOf(pattern), (secret) => {
            // An address without a password is no secret.
            if (rule === "database-connection-string") fc.pre(hasPassword(pattern, secret));
            drawn += 1;
            const forms = pattern.ignoreCase ? [secret, secret.toUpperCase()] : [secret];
            for (const form of forms) expect(rulesMarkedIn(form), `${rule}: ${form}`).toContain(rule);
          }),
          { numRuns: 30 },
        );
      }
    }
    expect(drawn).toBeGreaterThan(900);
  });

  it("redaction-1 finds a secret directly after a word, whatever its rule, and leaves the word", async () => {
    const prefix = fc.stringMatching(/^[A-Za-z0-9_é]{1,12}$/);
    const glued = new Set<string>();
    for (const [rule, ofRule] of await installedPatterns()) {
      for (const pattern of ofRule.filter(isAnchored)) {
        let found = 0;
        const check = async (before: string, secret: string) => {
          // Rules check more than their patterns, and a name that only ends like a mark is no secret.
          const alone = (await one({ text: secret }))?.data["text"];
          if (alone !== `[redacted:${rule}]` || /^xapp-(?!\d-)/.test(secret)) return;
          found += 1;
          const result = await one({ text: `see ${before}${secret} there` });
          expect(result?.data["text"]).toBe(`see ${before}[redacted:${rule}] there`);
          expect(result?.rules).toEqual([rule]);
        };
        await fc.assert(fc.asyncProperty(prefix, likely(rule, pattern), check), { numRuns: 40 });
        expect(found, `${rule}: ${pattern.source}`).toBeGreaterThan(10);
        glued.add(rule);
      }
    }
    expect(glued.size).toBe(22);
  });

  it("redaction-1 removes a secret of fixed length together with the word that continues after it", async () => {
    const aws = `aws_secret_access_key = ${awsKey}`;
    const slack = ["xoxb", "123456789012", "123456789012", "AbCdEfGhIjKl0123456789Mn"].join("-");
    const slackApp = ["xapp", "1", "A0123456789", "1234567890123", "0123456789abcdef".repeat(4)].join("-");
    for (const secret of [token, slack, slackApp, aws]) {
      for (const suffix of ["x", "_and_more", "9".repeat(30)]) {
        const [found] = await redactSecrets([{ text: `see ${secret}${suffix} there` }]);
        expect(found?.data["text"]).toMatch(/^see \[redacted:\w+\] there$/);
      }
    }
    const both = await one({ text: `(TOKEN${token}TOKEN${token}, ${token})` });
    expect(both?.data["text"]).toBe("(TOKEN[redacted:github], [redacted:github])");
  });

  it("leaves long names that only begin or end like a secret", async () => {
    const names = [
      "npm_package_devDependencies_vitest_coverage_v8_for_node_24",
      "test_ghp_token_is_taken_out_when_it_stands_directly_behind_a_word",
      "TEST_GHP_TOKEN_IS_TAKEN_OUT",
      "hf_AutoModelForVisionTextDualEncoderWithHead",
      "linuxapp-build-test",
      "nginxapp-staging-eu-west",
      "secretAccessKey: getSecretAccessKeyFromEnvironmentVariables()",
      "prophecies_SG.first.second",
    ];
    for (const text of names) expect(await one({ text })).toEqual({ data: { text }, rules: [] });
  });

  it("removes a secret from a megabyte of keywords", async () => {
    const marks = ["aghp_", "axoxb-", "aSG.a.", "asecretaccesskey=", "://", `x${token}`];
    for (const mark of marks) {
      const text = `${mark.repeat(1_000_000 / mark.length)} ${token}`;
      const result = await one({ text });
      expect(JSON.stringify(result)).not.toContain(token);
    }
  });

  it("redaction-2 redacts each record of a batch as if it were alone, and no field loses its name", async () => {
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

  it("redaction-2 a batch gives the same result as each of its records alone", async () => {
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
