/**
 * Secrets in command lines, and tokens that secretlint's rules miss.
 */
import { describe, expect, it } from "vitest";
import { commandLine, redactSecrets } from "../../src/redaction/index.ts";

const line = async (command: string) =>
  (await redactSecrets([{ pid: 1, command }], ["process_started"]))[0]?.data["command"];

describe("values in a command line", () => {
  it("redaction-1 are redacted where the name says that they are secret", async () => {
    const gone = "[redacted:assignment]";
    expect(await line("FOO_TOKEN=abcdefgh1 cmd")).toBe(`FOO_TOKEN=${gone} cmd`);
    expect(await line("export X_KEY='a b c d e'; y")).toBe(`export X_KEY=${gone}; y`);
    expect(await line("db_password='$ecret99 x' y")).toBe(`db_password=${gone} y`);
    expect(await line("docker run -e APP_SECRET=12345678")).toBe(`docker run -e APP_SECRET=${gone}`);
    expect(await line('A_TOKEN="cut off where a title ends')).toBe(`A_TOKEN=${gone}`);
  });

  it("redaction-1 stay if they are short, refer to a variable, belong to an option or are already redacted", async () => {
    for (const command of [
      "A_KEY=short",
      "A_TOKEN=$OTHER_VARIABLE cmd",
      `A_TOKEN="$${"{OTHER_VARIABLE}"}" cmd`,
      "sh -c \"A_TOKEN='$OTHER_VARIABLE' cmd\"",
      "token=$(cat /some/where/else)",
      "x --api-key=abcdefgh123",
      "apiKey=abcdefghijkl",
    ])
      expect(await line(command)).toBe(command);
    const token = ["ghp", "abcdefghijABCDEFGHIJ0123456789abcdef"].join("_");
    expect(await line(`GITHUB_TOKEN=${token} gh`)).toBe("GITHUB_TOKEN=[redacted:github] gh");
  });

  it("redaction-1 include the spaces and quotes of a word that no shell reads", async () => {
    const words = ["env", `A_TOKEN=some words, "quoted" and\nmore`, "true", "--", "X=a b"];
    const script = ["sh", "-ec", "A_TOKEN='some words' cmd with more"];
    const redacted = await redactSecrets(
      [
        { request: "r", spec: { command: words } },
        { turn: 1, input: { command: script } },
      ],
      ["task_queued", "turn_started"],
    );
    const gone = "A_TOKEN=[redacted:assignment]";
    expect(redacted).toEqual([
      { data: { request: "r", spec: { command: ["env", gone, ...words.slice(2)] } }, rules: ["assignment"] },
      {
        data: { turn: 1, input: { command: ["sh", "-ec", `${gone} cmd with more`] } },
        rules: ["assignment"],
      },
    ]);
    expect(commandLine(words)).toBe(`env ${gone} true -- X=a b`);
    expect(commandLine(script)).toBe(`sh -ec ${gone} cmd with more`);
    expect(commandLine(["env", "A_TOKEN=$OTHER and more"])).toBe("env A_TOKEN=$OTHER and more");
  });

  it("redaction-1 are redacted in every record that has a command line, and in no other text", async () => {
    const text = "A_SECRET=abcdefghi make";
    const batch = [
      { session: "s", title: text },
      { request: "r", spec: { command: ["sh", "-c", text], title: text } },
      { task: 1, asked: text },
      { turn: 1, input: { command: ["env", text] } },
      { turn: 1, args: { command: text } },
    ];
    const types = ["session_opened", "task_queued", "task_started", "turn_started", "tool_called"];
    const redacted = await redactSecrets(batch, types);
    expect(JSON.stringify(redacted)).not.toContain("abcdefghi");
    for (const { rules } of redacted) expect(rules).toEqual(["assignment"]);

    const others = [{ output: text }, { args: { path: "a.ts", content: text } }, { text }];
    const same = await redactSecrets(others, ["tool_returned", "tool_called", "message_received"]);
    expect(same).toEqual(others.map((data) => ({ data, rules: [] })));
    expect(await redactSecrets(batch)).toEqual(batch.map((data) => ({ data, rules: [] })));
  });
});

describe("tokens of our own rules", () => {
  it("redaction-1 are redacted in any text, even directly after a word", async () => {
    const oauth = ["sk-ant", "oat01", "AbCd_efgh-0123456789"].join("-");
    const router = ["sk-or", "v1", "0123456789abcdef".repeat(4)].join("-");
    const [found] = await redactSecrets([{ text: `TOKEN${oauth} (${router}) sk-or-v1-example` }]);
    expect(found?.data["text"]).toBe(
      "TOKEN[redacted:anthropic-oauth] ([redacted:openrouter]) sk-or-v1-example",
    );
    expect(found?.rules).toEqual(["anthropic-oauth", "openrouter"]);
  });
});
