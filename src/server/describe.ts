/**
 * Owns the description of the API for the documents.
 */
import { Dispatcher } from "../dispatch/index.ts";
import { EventStreams } from "./events.ts";
import { openApiOf } from "./open-api.ts";
import { routesOf } from "./routes.ts";

/** The OpenAPI document. The routes are made for a home, but none is called. */
export async function describeApi(options: { readonly home: string }): Promise<object> {
  const dispatcher = await Dispatcher.open(options);
  const signal = AbortSignal.abort();
  const streams = new EventStreams(dispatcher.home.io.clock, signal);
  return openApiOf(routesOf(dispatcher, streams, { signal, say: () => {} }));
}
