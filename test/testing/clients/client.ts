/**
 * What the clients of the four APIs have in common. They are made for the tests alone and know nothing of the server's
 * code: each writes a conversation as its API has it, and reads the answer back, whole or streamed.
 */
export interface Said {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly stop: unknown;
  readonly usage: unknown;
}

export type Entry =
  | { readonly user: string }
  | { readonly said: Pick<Said, "text" | "calls"> }
  /** One for each call of the last answer. */
  | { readonly results: readonly { readonly id: string; readonly name: string }[] };

export interface OfferedTool {
  readonly name: string;
  readonly schema: object;
}

export interface Asking {
  readonly entries: readonly Entry[];
  readonly tools?: readonly OfferedTool[];
  readonly system?: string;
  readonly isStreamed?: boolean;
}

export interface Client {
  readonly name: string;
  path(isStreamed: boolean): string;
  body(asking: Asking): object;
  whole(json: never): Said;
  streamed(events: never[]): Said;
}

export async function ask(url: string, client: Client, asking: Asking): Promise<Said> {
  const { isStreamed = false } = asking;
  const response = await post(url, client, asking);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  if (!isStreamed) return client.whole(JSON.parse(text) as never);
  const events = text
    .split(/\r?\n\r?\n/)
    .map((event) => /^data: (.*)$/m.exec(event)?.[1])
    .filter((data) => data !== undefined && data !== "[DONE]");
  return client.streamed(events.map((data) => JSON.parse(data ?? "") as never));
}

export function post(url: string, client: Client, asking: Asking): Promise<Response> {
  return fetch(`${url}${client.path(asking.isStreamed ?? false)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(client.body(asking)),
  });
}

/** What a stream brings in pieces. */
export const joined = (parts: readonly (string | undefined)[]) => parts.map((part) => part ?? "").join("");
