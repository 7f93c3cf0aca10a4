/**
 * Owns what the API can do with one session.
 */
import { parseSessionId } from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import {
  answerForm,
  branchForm,
  budgetForm,
  cancelForm,
  denyForm,
  forkForm,
  grantForm,
  holdfastOf,
  mergeForm,
  messageForm,
  noFields,
  rebaseForm,
  rewindForm,
  taskForm,
  teardownForm,
} from "../face/index.ts";
import { sessionDirOf } from "../home/index.ts";
import { Refusal } from "../http/index.ts";
import { present } from "../util/index.ts";
import { type ApiRoute, type Call, get, post } from "./api-route.ts";
import type { EventStreams } from "./events.ts";
import { grantApproval } from "./granting.ts";
import { countIn, flagIn, sendBytes } from "./query.ts";

export function sessionRoutes(dispatcher: Dispatcher, streams: EventStreams): readonly ApiRoute[] {
  const session = (call: Call) => holdfastOf(dispatcher, call.user).session(call.id);
  const show = ({ id, user }: Call) => dispatcher.show(id, { user });
  /** Fails for a session that is not there, before anything is sent. */
  const dirOf = async (call: Call) => {
    await show(call);
    return sessionDirOf(dispatcher.home, parseSessionId(call.id));
  };
  return [
    get("/v1/sessions/:id", "Shows a session.", {}, show),
    get(
      "/v1/sessions/:id/events",
      "Streams its records.",
      { after: "the seq to continue after" },
      async (call) => {
        const dir = await dirOf(call);
        const last = call.request.headers["last-event-id"] ?? call.url.searchParams.get("after") ?? "0";
        if (!/^\d{1,15}$/.test(String(last)))
          throw new Refusal(400, "invalid_data", "Last-Event-ID is the seq of a record");
        await streams.send(call.response, dir, Number(last));
        return undefined;
      },
    ),
    get(
      "/v1/sessions/:id/conversation",
      "Gives the conversation as messages for a model.",
      { form: "plain, anthropic, openai or ai-sdk" },
      async (call) => {
        const form = (call.url.searchParams.get("form") ?? "plain") as "plain";
        return { conversation: await (await session(call)).conversation(form) };
      },
    ),
    get(
      "/v1/sessions/:id/output",
      "Gives what a task wrote, as bytes.",
      { task: "default: the latest", follow: "whether to stay until the task is over" },
      async (call) => {
        const task = countIn(call, "task");
        const handle = await session(call);
        await sendBytes(call.response, (signal) =>
          handle.output({ ...present({ task }), follow: flagIn(call, "follow"), signal }),
        );
        return undefined;
      },
    ),
    get(
      "/v1/sessions/:id/diff",
      "Gives what a task changed.",
      { task: "default: the latest", whole: "everything since the session began" },
      async (call) => {
        const options = { ...present({ task: countIn(call, "task") }), isWhole: flagIn(call, "whole") };
        const { patch, ...diff } = await (await session(call)).diff(options);
        return { ...diff, patch: patch.toString("utf8") };
      },
    ),
    get(
      "/v1/sessions/:id/checks",
      "Gives the receipts of a task's checks.",
      { task: "default: the latest" },
      async (call) => (await session(call)).checks(present({ task: countIn(call, "task") })),
    ),
    get("/v1/sessions/:id/artifacts", "Lists the files that its tasks left.", {}, async (call) => ({
      artifacts: await (await session(call)).artifacts(),
    })),
    get("/v1/sessions/:id/artifacts/:task/:name", "Gives one of these files, as bytes.", {}, async (call) => {
      const { task, name = "" } = call.params;
      const bytes = await (await session(call)).readArtifact({ task: Number(task), name });
      call.response
        .writeHead(200, { "content-type": "application/octet-stream", "cache-control": "no-store" })
        .end(bytes);
      return undefined;
    }),
    get(
      "/v1/sessions/:id/queue",
      "Shows the task that is under way, and those that wait.",
      {},
      async (call) => (await session(call)).queue(),
    ),
    get("/v1/sessions/:id/requests", "Lists what it waits for a person for.", {}, async (call) => ({
      requests: await (await session(call)).requests(),
    })),
    post("/v1/sessions/:id/tasks", "Queues a task.", taskForm, async (call, task) =>
      (await session(call)).run(task),
    ),
    post(
      "/v1/sessions/:id/messages",
      "Sends a message.",
      messageForm,
      async ({ id, user }, { text, ...rest }) => dispatcher.send(id, text, { user, ...present(rest) }),
    ),
    post(
      "/v1/sessions/:id/approvals/:approval/grant",
      "Grants an approval.",
      grantForm,
      async (call, { fingerprint }) => {
        await grantApproval(dispatcher, call, fingerprint);
        return show(call);
      },
    ),
    post(
      "/v1/sessions/:id/approvals/:approval/deny",
      "Denies an approval.",
      denyForm,
      async (call, { reason }) => {
        await (await session(call)).deny(call.params["approval"] ?? "", reason);
        return show(call);
      },
    ),
    post(
      "/v1/sessions/:id/questions/:question/answer",
      "Answers a question.",
      answerForm,
      async (call, { text }) => {
        await (await session(call)).answer(call.params["question"] ?? "", text);
        return show(call);
      },
    ),
    post(
      "/v1/sessions/:id/cancel",
      "Takes a task back, or ends it.",
      cancelForm,
      async (call, { request }) => {
        await (await session(call)).cancel(request);
        return show(call);
      },
    ),
    post("/v1/sessions/:id/budget", "Adds to limits of its budget.", budgetForm, async (call, amounts) => {
      await (await session(call)).raiseBudget(amounts);
      return show(call);
    }),
    post("/v1/sessions/:id/branch", "Publishes its work to its branch.", branchForm, async (call, body) =>
      (await session(call)).branch(present(body)),
    ),
    post("/v1/sessions/:id/merge", "Merges its work into a branch.", mergeForm, async (call, body) =>
      (await session(call)).merge(present(body)),
    ),
    post("/v1/sessions/:id/rebase", "Puts its work on a newer commit.", rebaseForm, async (call, body) =>
      (await session(call)).rebase(present(body)),
    ),
    post(
      "/v1/sessions/:id/rewind",
      "Takes it back to the end of a turn.",
      rewindForm,
      async (call, { toTurn }) => {
        await (await session(call)).rewind(toTurn);
        return show(call);
      },
    ),
    post(
      "/v1/sessions/:id/teardown",
      "Takes its capsule away; a snapshot has all of it.",
      teardownForm,
      async (call, body) => (await session(call)).teardown(present(body)),
    ),
    post("/v1/sessions/:id/restore", "Undoes a teardown.", noFields, async (call) => {
      await (await session(call)).restore();
      return show(call);
    }),
    post(
      "/v1/sessions/:id/fork",
      "Makes a new session with its history up to a turn.",
      forkForm,
      async (call, body) => {
        const fork = await (await session(call)).fork(present(body));
        return dispatcher.show(fork.id, { user: call.user });
      },
    ),
    ...(["interrupt", "pause", "resume", "close", "archive"] as const).map((move) =>
      post(`/v1/sessions/:id/${move}`, MOVES[move], noFields, async (call) => {
        await (await session(call))[move]();
        return show(call);
      }),
    ),
  ];
}

const MOVES = {
  interrupt: "Ends the turn that it is at.",
  pause: "Ends its process, and keeps everything.",
  resume: "Starts what it has to do.",
  close: "Closes it: what runs is ended, and what waits does not begin.",
  archive: "Archives it; what runs is ended.",
} as const;
