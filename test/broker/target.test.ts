/**
 * Where a request may go: below the provider's address, to models, and nowhere else.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findProvider } from "../../src/broker/providers.ts";
import { chargedFor, targetOf } from "../../src/broker/target.ts";
import { parseSettings } from "../../src/config/index.ts";

const settings = await parseSettings(`providers:
  local: { api: openai, base_url: "http://127.0.0.1:8080/deep/v1/" }
  gate: { api: anthropic, base_url: "https://gate.example.org/anthropic" }
`);
const target = (provider: string, method: string, path: string) =>
  targetOf(findProvider(settings, provider), method, path).href;

describe("provider-1 the target of a request", () => {
  it.each([
    ["anthropic", "POST", "/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"],
    ["anthropic", "POST", "/v1/messages/count_tokens", "https://api.anthropic.com/v1/messages/count_tokens"],
    ["anthropic", "GET", "/v1/models?limit=5", "https://api.anthropic.com/v1/models?limit=5"],
    ["gate", "POST", "/v1/messages", "https://gate.example.org/anthropic/v1/messages"],
    ["openai", "POST", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"],
    ["openai", "POST", "/responses", "https://api.openai.com/v1/responses"],
    ["local", "POST", "/v1/chat/completions", "http://127.0.0.1:8080/deep/v1/chat/completions"],
    ["local", "GET", "/v1/models/a/b:free", "http://127.0.0.1:8080/deep/v1/models/a/b:free"],
    [
      "gemini",
      "POST",
      "/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=dummy&%6bey=dummy&KEY=dummy",
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    ],
  ])("%s %s %s is allowed", (provider, method, path, expected) => {
    expect(target(provider, method, path)).toBe(expected);
  });

  it.each([
    ["anthropic", "POST", "/v1/files"],
    ["anthropic", "POST", "/v1/messages/batches"],
    ["anthropic", "GET", "/v1/organizations/users"],
    ["anthropic", "GET", "/v1/messages"],
    ["anthropic", "DELETE", "/v1/messages"],
    ["anthropic", "POST", "/v1/messages/../files"],
    ["anthropic", "POST", "/v1/messages%2f..%2ffiles"],
    ["anthropic", "POST", "/v1/%2e%2e/admin"],
    ["anthropic", "POST", "//evil.example.org/v1/messages"],
    ["anthropic", "POST", "http://evil.example.org/v1/messages"],
    ["anthropic", "POST", "@evil.example.org/v1/messages"],
    ["anthropic", "POST", "/v1\\messages"],
    ["anthropic", "GET", "/v1/models/.."],
    ["anthropic", "GET", "/v1/models/../organizations"],
    ["anthropic", "POST", "/v1/messages#x"],
    ["anthropic", "POST", "/v1/messages?a=b#c"],
    ["openai", "POST", "/v1/files"],
    ["openai", "DELETE", "/v1/models/ft-mine"],
    ["openai", "GET", "/v1/organization/admin_api_keys"],
    ["local", "POST", "/v1/keys"],
    ["gemini", "POST", "/v1beta/models/x:batchGenerateContent"],
    ["gemini", "POST", "/upload/v1beta/files"],
    ["gemini", "POST", "/v1beta/tunedModels"],
    ["gemini", "GET", "/v1beta/cachedContents"],
  ])("%s %s %s is refused", (provider, method, path) => {
    expect(() => target(provider, method, path)).toThrow("is not a request for models");
  });

  it("stays below the base URL, whatever pieces the path is made of", () => {
    const piece = fc.constantFrom(
      ..."/ . .. // \\ %2e %2E %2f %5c ? # @ : v1 messages models x key=1 & ; %00 \n é".split(" "),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom("GET", "POST"), (pieces, method) => {
        const path = pieces.join("");
        let found: string;
        try {
          found = target("gate", method, path);
        } catch {
          return;
        }
        expect(found).toMatch(/^https:\/\/gate\.example\.org\/anthropic\/v1\/(messages|models)/);
        expect(new URL(found).pathname).not.toContain("..");
      }),
      { numRuns: 2000 },
    );
  });
});

describe("what a provider charges for", () => {
  it.each([
    ["anthropic", "POST", "/v1/messages?beta=true", "answer"],
    ["anthropic", "POST", "/v1/messages?x=count_tokens", "answer"],
    ["anthropic", "POST", "/v1/messages?/count_tokens", "answer"],
    ["anthropic", "POST", "/v1/messages/count_tokens?beta=true", "nothing"],
    ["anthropic", "GET", "/v1/models", "nothing"],
    ["openai", "POST", "/v1/chat/completions?x=embed", "answer"],
    ["openai", "POST", "/v1/responses?x=/responses/input_tokens", "answer"],
    ["openai", "POST", "/v1/responses/compact", "answer"],
    ["openai", "POST", "/responses/input_tokens", "nothing"],
    ["openai", "POST", "/v1/embeddings", "input"],
    ["gemini", "POST", "/v1beta/models/x:streamGenerateContent?alt=sse", "answer"],
    ["gemini", "POST", "/v1beta/models/embed-countTokens:generateContent", "answer"],
    ["gemini", "POST", "/v1beta/models/x:countTokens", "nothing"],
    ["gemini", "POST", "/v1beta/models/x:batchEmbedContents", "input"],
    // It goes nowhere. If it did, it would not be free.
    ["openai", "POST", "/v1/elsewhere/input_tokens", "answer"],
  ] as const)("for %s %s %s: %s", (api, method, path, charged) => {
    expect(chargedFor(api, method, path)).toBe(charged);
  });
});
