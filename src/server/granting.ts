/**
 * Owns the granting of an approval over the API: the caller has shown a person the whole action, and names its whole
 * fingerprint.
 */
import { HoldfastError } from "../contract/index.ts";
import { approvedAction, assertShowable, type Dispatcher, diffFor, Requests } from "../dispatch/index.ts";
import { grantTo } from "../operator/index.ts";
import type { Call } from "./api-route.ts";

export async function grantApproval(dispatcher: Dispatcher, call: Call, fingerprint: string): Promise<void> {
  const { id, user, params } = call;
  const requests = await new Requests(dispatcher).of(id, { user });
  const asked = requests.find((one) => one.kind === "approval" && one.id === params["approval"]);
  if (!asked)
    throw new HoldfastError(
      "approval_not_found",
      `session ${id} waits for no approval ${params["approval"]}`,
    );
  const action = approvedAction(dispatcher.home, asked);
  if (asked.data["fingerprint"] !== fingerprint)
    throw new HoldfastError(
      "grant_invalid",
      `${asked.id} has another fingerprint than the one that was named`,
    );
  if (action.tree !== (asked.data["tree"] ?? null))
    throw new HoldfastError("grant_invalid", `${asked.id} names another tree than its record`);
  // A person has to be able to see the files that it rests on.
  if (action.tree !== null) assertShowable(asked, await diffFor(dispatcher.home, asked));
  await grantTo(dispatcher, asked);
}
