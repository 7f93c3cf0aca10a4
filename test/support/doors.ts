/**
 * Requests to the door of a session, as its command makes them.
 */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { readProcessRecord } from "../../src/home/index.ts";
import type { HostHome } from "./hosts.ts";

export const doorOf = (home: HostHome, id: string) =>
  join(readProcessRecord(home.sessionDir(id))?.bell ?? "", "..", "door", "socket");
export const tokenOf = (home: HostHome, id: string) =>
  readFileSync(home.sessionDir(id, "token"), "utf8").trim();

export function ask(
  socketPath: string,
  token: string | undefined,
  options: { method?: string; path?: string; body?: string } = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { method = "GET", path = "/v1/inbox", body } = options;
    const call = request({ socketPath, method, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on("error", reject);
    call.end(body);
  });
}
