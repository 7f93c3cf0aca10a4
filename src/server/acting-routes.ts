/**
 * Owns the routes of the API that do something with one session. Most answer with the session as it is afterwards.
 */
import type { Dispatcher } from "../dispatch/index.ts";
import {
  answerForm,
  branchForm,
  budgetForm,
  cancelForm,
  denyForm,
  forkForm,
  grantForm,
  handOffForm,
  holdfastOf,
  keepForm,
  mergeForm,
  messageForm,
  noFields,
  rebaseForm,
  rewindForm,
  type SessionHandle,
  takeBackForm,
  taskForm,
  teardownForm,
} from "../face/index.ts";
import { present } from "../util/index.ts";
import {
  branchedAnswer,
  handOffAnswer,
  mergedAnswer,
  rebasedAnswer,
  returnedAnswer,
  sentAnswer,
  sessionAnswer,
  taskAnswer,
  tornDownAnswer,
} from "./answers.ts";
import {
  type Afterwards,
  type ApiRoute,
  type Call,
  type Form,
  type FormOf,
  type Gives,
  post,
} from "./api-route.ts";
import { grantApproval } from "./granting.ts";
import { assertAbsolute } from "./paths.ts";
import { sendMessage } from "./sending.ts";

export function actingRoutes(dispatcher: Dispatcher, afterwards: Afterwards): readonly ApiRoute[] {
  const session = (call: Call) => holdfastOf(dispatcher, call.user).session(call.id);

  /** Answers with what the method returned. */
  const asks = <F extends Form>(
    path: string,
    summary: string,
    form: F,
    gives: Gives,
    ask: (handle: SessionHandle, body: FormOf<F>) => Promise<object>,
  ) =>
    post(`/v1/sessions/:id/${path}`, summary, { form, gives }, async (call, body) =>
      ask(await session(call), body),
    );

  /** Answers with the session. */
  const does = <F extends Form>(
    path: string,
    summary: string,
    form: F,
    act: (handle: SessionHandle, body: FormOf<F>, params: Call["params"]) => Promise<unknown>,
  ) =>
    post(`/v1/sessions/:id/${path}`, summary, { form, gives: sessionAnswer }, async (call, body) => {
      await act(await session(call), body, call.params);
      return dispatcher.show(call.id, { user: call.user });
    });

  return [
    asks("tasks", "Queues a task.", taskForm, taskAnswer, (handle, task) => handle.run(task)),
    post(
      "/v1/sessions/:id/messages",
      "Sends a message.",
      { form: messageForm, gives: sentAnswer },
      (call, body) => sendMessage(dispatcher, call, body, afterwards),
    ),
    post(
      "/v1/sessions/:id/approvals/:approval/grant",
      "Grants an approval.",
      { form: grantForm, gives: sessionAnswer },
      async (call, { fingerprint }) => {
        await grantApproval(dispatcher, call, fingerprint);
        return dispatcher.show(call.id, { user: call.user });
      },
    ),
    does("approvals/:approval/deny", "Denies an approval.", denyForm, (handle, { reason }, params) =>
      handle.deny(params["approval"] ?? "", reason),
    ),
    does("questions/:question/answer", "Answers a question.", answerForm, (handle, { text }, params) =>
      handle.answer(params["question"] ?? "", text),
    ),
    does("cancel", "Cancels a task.", cancelForm, (handle, { request }) => handle.cancel(request)),
    does("budget", "Raises the limits of its budget by these amounts.", budgetForm, (handle, amounts) =>
      handle.raiseBudget(amounts),
    ),
    does("keep", "Sets whether retention and gc leave the session alone.", keepForm, (handle, { isKept }) =>
      handle.keep(isKept),
    ),
    asks("branch", "Publishes its work to its branch.", branchForm, branchedAnswer, (handle, body) =>
      handle.branch(present(body)),
    ),
    asks("merge", "Merges its work into a branch.", mergeForm, mergedAnswer, (handle, body) =>
      handle.merge(present(body)),
    ),
    asks("rebase", "Rebases its work onto a branch.", rebaseForm, rebasedAnswer, (handle, body) =>
      handle.rebase(present(body)),
    ),
    does("rewind", "Takes it back to the end of a turn.", rewindForm, (handle, { toTurn }) =>
      handle.rewind(toTurn),
    ),
    asks("handoff", "Gives a person the files.", handOffForm, handOffAnswer, (handle, { to, directory }) => {
      assertAbsolute("directory", directory);
      return handle.handOff({ to, ...present({ directory }) });
    }),
    asks("takeback", "Takes the files back.", takeBackForm, returnedAnswer, (handle, body) => {
      assertAbsolute("directory", body.directory);
      return handle.takeBack(present(body));
    }),
    asks("teardown", "Removes its capsule after a snapshot.", teardownForm, tornDownAnswer, (handle, body) =>
      handle.teardown(present(body)),
    ),
    does("restore", "Undoes a teardown.", noFields, (handle) => handle.restore()),
    post(
      "/v1/sessions/:id/fork",
      "Makes a new session with its history up to a turn.",
      { form: forkForm, gives: sessionAnswer },
      async (call, body) => {
        const fork = await (await session(call)).fork(present(body));
        return dispatcher.show(fork.id, { user: call.user });
      },
    ),
    ...(["interrupt", "pause", "resume", "close", "archive"] as const).map((move) =>
      does(move, MOVES[move], noFields, (handle) => handle[move]()),
    ),
  ];
}

const MOVES = {
  interrupt: "Interrupts the current turn.",
  pause: "Ends its process, and keeps everything.",
  resume: "Starts or continues the session's tasks.",
  close: "Closes the session: a running task is ended, and waiting tasks do not begin.",
  archive: "Archives the session. A running task is ended first.",
} as const;
