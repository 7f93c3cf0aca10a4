/**
 * Sessions whose agent takes messages and answers them (test/fixtures/message-loop.mjs).
 */
import { agent, type Dispatcher, type HostHome, typesOf, until } from "./hosts.ts";

export async function startLoop(home: HostHome, dispatcher: Dispatcher, own = {}): Promise<string> {
  const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs", own));
  await until(async () => (await typesOf(dispatcher, id)).includes("process_started"));
  return id;
}

export async function messageEvents(dispatcher: Dispatcher, id: string) {
  const events: [string, unknown, unknown][] = [];
  for await (const { type, data } of dispatcher.holdfast.readJournal(id))
    if (type.startsWith("message_")) events.push([type, data["message"], data["certain"]]);
  return events;
}
