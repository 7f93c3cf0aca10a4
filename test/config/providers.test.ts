/**
 * The sections of settings.yaml that say where models and their keys are.
 */
import { describe, expect, it } from "vitest";
import { defaultSettings, parseSettings } from "../../src/config/index.ts";

const PLANTED = "sk-ant-api03-planted000000000000";

describe("providers, keys and logins in settings.yaml", () => {
  it("are all optional", async () => {
    expect(defaultSettings).toMatchObject({
      providers: {},
      keys: {},
      logins: { claude: { refresh: false } },
    });
    expect(await parseSettings("providers:\nkeys:\nlogins:\n")).toEqual(defaultSettings);
  });

  it("can add a provider, change a shipped one's address, and name a command or a file for a key", async () => {
    const text = `providers:
  local: { api: openai, base_url: "http://127.0.0.1:8080/v1", key_env: LOCAL_KEY }
  anthropic: { base_url: "https://gateway.example.org/anthropic" }
keys:
  anthropic: { command: [pass, show, anthropic] }
  local: { file: ~/.config/local.key }
logins: { claude: { refresh: true, token_url: "http://127.0.0.1:1/token" } }
`;
    expect(await parseSettings(text)).toMatchObject({
      providers: { local: { api: "openai", key_env: "LOCAL_KEY" }, anthropic: {} },
      keys: { anthropic: { command: ["pass", "show", "anthropic"] }, local: { file: "~/.config/local.key" } },
      logins: { claude: { refresh: true } },
    });
  });

  it.each([
    ["a key itself", `keys:\n  anthropic: ${PLANTED}\n`, 2, "a key itself can't be written here"],
    [
      "a key as a word of a command",
      `keys:\n  anthropic:\n    command: [echo, ${PLANTED}]\n`,
      3,
      "is a key itself",
    ],
    [
      "a key inside a word of a command",
      `keys:\n  anthropic:\n    command:\n      - sh\n      - -c\n      - echo ${PLANTED}\n`,
      6,
      "is a key itself",
    ],
    [
      "a key under an unknown name",
      `keys:\n  anthropic:\n    key: ${PLANTED}\n`,
      3,
      "keys.anthropic.key: no such key",
    ],
    [
      "both a command and a file",
      "keys:\n  openai:\n    command: [a]\n    file: /b\n",
      3,
      "either a command or a file",
    ],
    ["neither a command nor a file", "keys:\n  openai: {}\n", 2, "either a command or a file"],
    ["a file by a relative path", "keys:\n  openai:\n    file: key\n", 3, "must begin with / or ~/"],
    ["a key for an unknown provider", "keys:\n  opanai: { file: /a }\n", 2, "keys.opanai: is not a provider"],
    ["an incomplete provider", "providers:\n  local: { api: openai }\n", 2, "needs api and base_url"],
    [
      "another API for a shipped provider",
      "providers:\n  openai:\n    api: gemini\n    base_url: http://a\n",
      3,
      "providers.openai.api: comes with holdfast",
    ],
    [
      "a password in an address",
      "providers:\n  openai:\n    base_url: https://a:b@c/\n",
      3,
      "is not an address",
    ],
    [
      "a query in an address",
      "providers:\n  gemini:\n    base_url: https://c/?key=x\n",
      3,
      "is not an address",
    ],
    [
      "an address of another scheme",
      "providers:\n  gemini:\n    base_url: file:///etc\n",
      3,
      "is not an address",
    ],
    [
      "a provider name with a slash",
      "providers:\n  a/b: { api: openai, base_url: http://a }\n",
      2,
      "is not a name",
    ],
    ["an unknown login", "logins:\n  codex: {}\n", 2, "logins.codex: no such key"],
  ])("are refused with the line in the error, which never shows a key: %s", async (_, text, line, said) => {
    const failure = parseSettings(text);
    await expect(failure).rejects.toMatchObject({ code: "config_invalid", facts: { line } });
    await expect(failure).rejects.toThrow(said);
    await expect(failure).rejects.not.toThrow(PLANTED);
  });
});
