/**
 * Owns the program that an agent's configuration names as an MCP server. It runs inside the sandbox, carries
 * each line of its standard input to the session's door, and writes the answers to its standard output. It is
 * copied beside the door, imports nothing of Holdfast, and runs on any Node since 18.
 */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createInterface } from "node:readline";

const door = process.env["HOLDFAST_DOOR"] ?? "";
const tokenFile = process.env["HOLDFAST_TOKEN_FILE"] ?? "";
const path = process.argv[2] ?? "/mcp";
let client = "";
/** A client's first message identifies it, so the others wait for it. */
let opening: Promise<unknown> = Promise.resolve();

const write = (text: string) => process.stdout.write(`${text}\n`);

interface Message {
  readonly id?: string | number;
  readonly method?: string;
}

function messageIn(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message;
  } catch (error) {
    console.error(String(error));
    return undefined;
  }
}

function carry(line: string, message: Message): Promise<void> {
  return new Promise((resolve) => {
    const fail = (text: string) => {
      if (message.id !== undefined)
        write(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: -32_000, message: text } }));
      resolve();
    };
    const asked = request(
      {
        socketPath: door,
        path,
        method: "POST",
        headers: {
          host: "localhost",
          authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(client && { "mcp-session-id": client }),
        },
      },
      (answer) => {
        client = String(answer.headers["mcp-session-id"] ?? client);
        const isStream = String(answer.headers["content-type"]).startsWith("text/event-stream");
        let rest = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          rest += chunk;
          if (!isStream) return;
          const events = rest.split("\n\n");
          rest = events.pop() ?? "";
          for (const event of events) {
            const data = event.split("\n").filter((one) => one.startsWith("data:"));
            const text = data.map((one) => one.slice(5).trim()).join("");
            if (text !== "") write(text);
          }
        });
        answer.on("end", () => {
          if ((answer.statusCode ?? 500) >= 400)
            return fail(`the session answered ${answer.statusCode}: ${rest}`);
          if (!isStream && rest.trim() !== "") write(rest.trim());
          resolve();
        });
        answer.on("error", ({ message: text }) => fail(text));
      },
    );
    asked.on("error", ({ message: text }) => fail(`the session can't be reached: ${text}`));
    asked.end(line);
  });
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line.trim() === "") return;
  const message = messageIn(line);
  if (!message) return;
  const carried = opening
    .then(() => carry(line, message))
    .catch((error: unknown) => console.error(String(error)));
  if (message.method === "initialize") opening = carried;
});
