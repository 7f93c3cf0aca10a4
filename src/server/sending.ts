/**
 * Owns sending a message over the API. The client gets its answer when the message is on disk: checks of the agent's work,
 * after which the message wakes the session, are waited for afterwards.
 */
import type { Dispatcher } from "../dispatch/index.ts";
import { type messageForm, sendAndWake } from "../face/index.ts";
import type { Afterwards, Call, FormOf } from "./api-route.ts";

export function sendMessage(
  dispatcher: Dispatcher,
  { id, user }: Pick<Call, "id" | "user">,
  message: FormOf<typeof messageForm>,
  { signal, say }: Afterwards,
): Promise<object> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const onWait = (sent: object) => {
      isAnswered = true;
      resolve(sent);
    };
    sendAndWake(dispatcher, id, message, { user, onWait, signal }).then(resolve, (error: unknown) => {
      if (!isAnswered) return reject(error);
      say(`${id} was not woken by a message: ${error instanceof Error ? error.message : String(error)}`);
    });
  });
}
