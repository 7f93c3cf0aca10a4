/**
 * Owns the routes of the API that are about a home: one user's sessions together. docs/protocol.md lists all routes and
 * the OpenAPI document describes them; tests compare both with this table.
 */
import { type Dispatcher, type Standing, standings } from "../dispatch/index.ts";
import { beginForm, HomeStream, holdfastOf, limitsForm, newSessionForm } from "../face/index.ts";
import { present } from "../util/index.ts";
import { actingRoutes } from "./acting-routes.ts";
import {
  begunAnswer,
  conflictsAnswer,
  documentAnswer,
  limitsAnswer,
  requestsAnswer,
  searchAnswer,
  sessionAnswer,
  sessionsAnswer,
} from "./answers.ts";
import { type Afterwards, type ApiRoute, type Call, get, post } from "./api-route.ts";
import type { EventStreams } from "./events.ts";
import { lookingRoutes } from "./looking-routes.ts";
import { openApiOf } from "./open-api.ts";
import { assertAbsolute } from "./paths.ts";
import { count, countIn, oneOf, pairsIn, text, textIn, texts, textsIn } from "./query.ts";

const FILTERS = {
  standing: { ...oneOf("how the sessions stand", standings), isRepeated: true },
  tag: texts("a tag that the sessions have"),
  metadata: texts("NAME=TEXT: metadata that the sessions have"),
  agent: text("the sessions' agent"),
  repo: text("the sessions' repo"),
};

export function routesOf(
  dispatcher: Dispatcher,
  streams: EventStreams,
  afterwards: Afterwards,
): readonly ApiRoute[] {
  const home = ({ user }: Call) => holdfastOf(dispatcher, user);

  const routes: readonly ApiRoute[] = [
    get("/v1/sessions", "Lists the sessions.", { query: FILTERS, gives: sessionsAnswer }, async (call) => {
      const standing = textsIn(call, "standing") as Standing[];
      assertAbsolute("repo", textIn(call, "repo"));
      const filter = {
        ...{ user: call.user, tags: textsIn(call, "tag"), metadata: pairsIn(call, "metadata") },
        ...present({ agent: textIn(call, "agent"), repo: textIn(call, "repo") }),
        ...(standing.length > 0 && { standing }),
      };
      return { sessions: await dispatcher.list(filter) };
    }),
    post(
      "/v1/sessions",
      "Opens a session.",
      { form: newSessionForm, gives: sessionAnswer },
      async (call, body) => {
        assertAbsolute("repo", body.repo);
        const opened = await home(call).openSession(present(body));
        await opened.release();
        return dispatcher.show(opened.id, { user: call.user });
      },
    ),
    post(
      "/v1/tasks",
      "Opens a session with its first task, and starts it.",
      { form: beginForm, gives: begunAnswer },
      async (call, { task, session: opening }) => {
        assertAbsolute("session.repo", opening?.repo);
        const { request, session } = await home(call).begin(task, present(opening ?? {}));
        return { request, session: await dispatcher.show(session.id, { user: call.user }) };
      },
    ),
    get(
      "/v1/events",
      "Streams the records of all sessions.",
      { query: { after: text("a cursor to continue after") }, gives: "events" },
      async (call) => {
        const last = call.request.headers["last-event-id"] ?? textIn(call, "after");
        using stream = await HomeStream.open(dispatcher.home, call.user, last?.toString());
        await streams.sendAll(call.response, stream);
        return undefined;
      },
    ),
    get(
      "/v1/search",
      "Searches all sessions for words.",
      {
        query: { word: texts("a word; a hit has all of them"), limit: count("how many hits at most") },
        gives: searchAnswer,
      },
      async (call) => ({
        hits: await home(call).search(textsIn(call, "word"), present({ limit: countIn(call, "limit") })),
      }),
    ),
    get(
      "/v1/requests",
      "Lists the approvals and questions of all sessions that wait for a person.",
      { gives: requestsAnswer },
      async (call) => ({ requests: await home(call).requests() }),
    ),
    get(
      "/v1/conflicts",
      "Lists sessions whose work conflicts.",
      { gives: conflictsAnswer },
      async (call) => ({
        repos: await home(call).conflicts(),
      }),
    ),
    get("/v1/limits", "Shows the limits of all sessions together.", { gives: limitsAnswer }, (call) =>
      home(call).limits(),
    ),
    post(
      "/v1/limits",
      "Sets limits of all sessions together.",
      { form: limitsForm, gives: limitsAnswer },
      async (call, limits) => {
        await home(call).setLimits(present(limits));
        return home(call).limits();
      },
    ),
    get("/v1/openapi.json", "Returns this OpenAPI document.", { gives: documentAnswer }, async () =>
      openApiOf(routes),
    ),
    ...lookingRoutes(dispatcher, streams),
    ...actingRoutes(dispatcher, afterwards),
  ];
  return routes;
}
