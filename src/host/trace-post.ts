/**
 * Owns one request to a collector: OTLP over HTTP, as JSON. It ends after its time whatever the other side
 * does, follows no redirect, and reads only the status of the answer.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Collector } from "../contract/index.ts";
import { errorCode } from "../util/index.ts";

/** Why it was not accepted; undefined when it was. */
export function post({ url, headers, timeoutMs }: Collector, body: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const failed = (error: unknown) =>
      resolve(signal.aborted ? `no answer within ${timeoutMs} ms` : (errorCode(error) ?? "it failed"));
    try {
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const sent = send(url, {
        method: "POST",
        agent: false,
        signal,
        headers: { ...headers, "content-type": "application/json", "content-length": body.byteLength },
      });
      sent.on("error", failed);
      sent.on("response", (answer) => {
        const { statusCode = 0 } = answer;
        answer.on("error", () => {}).destroy();
        resolve(statusCode >= 200 && statusCode < 300 ? undefined : `it answered ${statusCode}`);
      });
      sent.end(body);
    } catch (error) {
      // A header that can't be sent is refused at once.
      failed(error);
    }
  });
}
