/**
 * Owns the granting of an approval: the operator's key signs it, and the session records it. A caller has shown the
 * person the whole action first, and the person has named its fingerprint.
 */
import { type AskedOfPerson, type DecisionMade, type Dispatcher, Requests } from "../dispatch/index.ts";
import { signGrant } from "./signing.ts";

export async function grantTo(dispatcher: Dispatcher, asked: AskedOfPerson): Promise<DecisionMade> {
  const { id, session, user, request, data, lastRecordAt } = asked;
  const decided = {
    approval: id,
    request,
    session,
    fingerprint: String(data["fingerprint"]),
    by: `user:${user}`,
  };
  const grant = await signGrant(dispatcher.home, decided, lastRecordAt);
  return new Requests(dispatcher).approve(session, grant, { user });
}
