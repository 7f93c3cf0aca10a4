/**
 * Owns the routes of the API that look at one session.
 */
import { parseSessionId } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import { type ConversationForms, conversationForms, holdfastOf } from "../face/index.ts";
import { sessionDirOf } from "../home/index.ts";
import { Refusal } from "../http/index.ts";
import { present } from "../util/index.ts";
import {
  artifactsAnswer,
  auditAnswer,
  checksAnswer,
  conversationAnswer,
  diffAnswer,
  queueAnswer,
  requestsAnswer,
  sessionAnswer,
  turnsAnswer,
  usageAnswer,
} from "./answers.ts";
import { type ApiRoute, type Call, get } from "./api-route.ts";
import { sendBytes, sendFile } from "./bytes.ts";
import type { EventStreams } from "./events.ts";
import { count, countIn, flag, flagIn, oneOf, textIn } from "./query.ts";

const TASK = count("the task; default: the latest");
const FORMS = Object.keys(conversationForms);

export function lookingRoutes(dispatcher: Dispatcher, streams: EventStreams): readonly ApiRoute[] {
  const session = (call: Call) => holdfastOf(dispatcher, call.user).session(call.id);
  const show = ({ id, user }: Call) => dispatcher.show(id, { user });
  /** Fails for a session that is not there, before anything is sent. */
  const dirOf = async (call: Call) => {
    await show(call);
    return sessionDirOf(dispatcher.home, parseSessionId(call.id));
  };
  return [
    get("/v1/sessions/:id", "Shows a session.", { gives: sessionAnswer }, show),
    get(
      "/v1/sessions/:id/events",
      "Streams its records.",
      {
        query: {
          after: { description: "the seq to continue after", schema: { type: "integer", minimum: 0 } },
        },
        gives: "events",
      },
      async (call) => {
        const dir = await dirOf(call);
        const last = call.request.headers["last-event-id"] ?? textIn(call, "after") ?? "0";
        if (!/^\d{1,15}$/.test(String(last)))
          throw new Refusal(400, "invalid_data", "Last-Event-ID is the seq of a record");
        await streams.send(call.response, dir, Number(last));
        return undefined;
      },
    ),
    get(
      "/v1/sessions/:id/conversation",
      "Returns the conversation as messages for a model.",
      {
        query: { form: oneOf("the form of the messages; default: plain", FORMS) },
        gives: conversationAnswer,
      },
      async (call) => {
        const form = (textIn(call, "form") ?? "plain") as keyof ConversationForms;
        return { conversation: await (await session(call)).conversation(form) };
      },
    ),
    get("/v1/sessions/:id/turns", "Lists the turns that ended.", { gives: turnsAnswer }, async (call) => ({
      turns: await Array.fromAsync((await session(call)).turns()),
    })),
    get(
      "/v1/sessions/:id/usage",
      "Lists what it spent: one entry for each turn and each metered request.",
      { gives: usageAnswer },
      async (call) => ({ expenses: await (await session(call)).expenses() }),
    ),
    get(
      "/v1/sessions/:id/output",
      "Returns what a task wrote, as bytes.",
      { query: { task: TASK, follow: flag("stay until the task is over") }, gives: "bytes" },
      async (call) => {
        const [task, follow, handle] = [countIn(call, "task"), flagIn(call, "follow"), await session(call)];
        await sendBytes(call.response, (signal) => handle.output({ ...present({ task }), follow, signal }));
        return undefined;
      },
    ),
    get(
      "/v1/sessions/:id/diff",
      "Returns what a task changed.",
      { query: { task: TASK, whole: flag("everything since the session began") }, gives: diffAnswer },
      async (call) => {
        const options = { ...present({ task: countIn(call, "task") }), isWhole: flagIn(call, "whole") };
        const { patch, ...diff } = await (await session(call)).diff(options);
        return { ...diff, patch: patch.toString("utf8") };
      },
    ),
    get(
      "/v1/sessions/:id/checks",
      "Returns the receipts of a task's checks.",
      { query: { task: TASK }, gives: checksAnswer },
      async (call) => (await session(call)).checks(present({ task: countIn(call, "task") })),
    ),
    get(
      "/v1/sessions/:id/artifacts",
      "Lists the files that its tasks left.",
      { gives: artifactsAnswer },
      async (call) => ({ artifacts: await (await session(call)).artifacts() }),
    ),
    get(
      "/v1/sessions/:id/artifacts/:task/:name",
      "Returns one of these files, as bytes.",
      { gives: "bytes" },
      async (call) => {
        const { task, name = "" } = call.params;
        sendFile(call.response, await (await session(call)).readArtifact({ task: Number(task), name }));
        return undefined;
      },
    ),
    get(
      "/v1/sessions/:id/queue",
      "Shows the task that is under way, and those that wait.",
      { gives: queueAnswer },
      async (call) => (await session(call)).queue(),
    ),
    get(
      "/v1/sessions/:id/requests",
      "Lists the approvals and questions that wait for a person.",
      { gives: requestsAnswer },
      async (call) => ({ requests: await (await session(call)).requests() }),
    ),
    get(
      "/v1/sessions/:id/audit",
      "Checks every byte of its journal, blobs and artifacts.",
      { query: { deep: flag("and of its snapshots") }, gives: auditAnswer },
      async (call) => (await session(call)).audit({ deep: flagIn(call, "deep") }),
    ),
  ];
}
