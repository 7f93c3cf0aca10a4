/**
 * Owns what the API can do: the same as the library, for one user's sessions. docs/protocol.md lists it and the OpenAPI
 * document describes it; tests compare both with this table.
 */
import type { Dispatcher } from "../dispatch/index.ts";
import { beginForm, holdfastOf, newSessionForm } from "../face/index.ts";
import { present } from "../util/index.ts";
import { type ApiRoute, type Call, get, post } from "./api-route.ts";
import type { EventStreams } from "./events.ts";
import { openApiOf } from "./open-api.ts";
import { countIn, textsIn } from "./query.ts";
import { sessionRoutes } from "./session-routes.ts";

export function routesOf(dispatcher: Dispatcher, streams: EventStreams): readonly ApiRoute[] {
  const home = ({ user }: Call) => holdfastOf(dispatcher, user);

  const routes: readonly ApiRoute[] = [
    get(
      "/v1/sessions",
      "Lists the sessions.",
      { tag: "a tag that they have", agent: "their agent", repo: "their repo" },
      async (call) => {
        const [tags, [agent], [repo]] = [textsIn(call, "tag"), textsIn(call, "agent"), textsIn(call, "repo")];
        return { sessions: await dispatcher.list({ user: call.user, tags, ...present({ agent, repo }) }) };
      },
    ),
    post("/v1/sessions", "Opens a session.", newSessionForm, async (call, body) => {
      const opened = await home(call).openSession(present(body));
      await opened.release();
      return dispatcher.show(opened.id, { user: call.user });
    }),
    post(
      "/v1/tasks",
      "Opens a session with its first task, and starts it.",
      beginForm,
      async (call, { task, session: opening }) => {
        const begun = await home(call).begin(task, present(opening ?? {}));
        return {
          request: begun.request,
          session: await dispatcher.show(begun.session.id, { user: call.user }),
        };
      },
    ),
    get(
      "/v1/events",
      "Streams the records of all sessions.",
      { after: "a cursor to continue after" },
      async (call) => {
        const last = call.request.headers["last-event-id"] ?? call.url.searchParams.get("after") ?? undefined;
        const from = last === undefined ? {} : { after: String(last) };
        await streams.sendAll(call.response, (signal) => home(call).events({ ...from, signal }));
        return undefined;
      },
    ),
    get(
      "/v1/search",
      "Finds where words stand.",
      { word: "a word; each one has to be there", limit: "at most so many" },
      async (call) => {
        const limit = countIn(call, "limit");
        return { hits: await home(call).search(textsIn(call, "word"), present({ limit })) };
      },
    ),
    get("/v1/requests", "Lists what waits for a person, in all sessions.", {}, async (call) => ({
      requests: await home(call).requests(),
    })),
    get("/v1/conflicts", "Tells which sessions will collide when they are merged.", {}, async (call) => ({
      repos: await home(call).conflicts(),
    })),
    get("/v1/openapi.json", "Gives this description.", {}, async () => openApiOf(routes)),
    ...sessionRoutes(dispatcher, streams),
  ];
  return routes;
}
