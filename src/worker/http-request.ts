/**
 * Owns `http_request`: one request to one address. A person is shown the request exactly as it will be made.
 */
import { HoldfastError, type Json, type JsonObject } from "../contract/index.ts";
import type { ActingTool, Prepared } from "../lane/index.ts";
import { act } from "./acting.ts";
import { checked, declarationFacts } from "./declared.ts";
import { textIn } from "./git-push.ts";
import { assertHeaders } from "./headers.ts";
import type { Declaration } from "./order.ts";
import type { ActingPlace } from "./place.ts";
import { portOf } from "./reach.ts";
import { assertTextWithoutSecrets } from "./standing.ts";

const NAME = "http_request";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const input: JsonObject = {
  type: "object",
  properties: {
    method: { type: "string", enum: METHODS },
    url: { type: "string", maxLength: 8000 },
    headers: { type: "object", additionalProperties: { type: "string", maxLength: 8000 } },
    body: { type: "string", maxLength: 500_000 },
  },
  required: ["method", "url"],
  additionalProperties: false,
};

export function httpRequest(place: ActingPlace, declaration: Declaration): ActingTool {
  return {
    name: NAME,
    class: "external",
    description:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how a variable is named there.
      "Makes one HTTP request. Redirects are not followed. In the value of a header, ${env.NAME} stands for a variable of the tool.",
    input,
    declaration: { ...declaration } as unknown as Json,
    prepare: async (args) => {
      await checked(NAME, input, args);
      const url = addressOf(textIn(args, "url") ?? "");
      const headers = (args["headers"] ?? {}) as Record<string, string>;
      assertHeaders(headers, declaration.env);
      await assertTextWithoutSecrets(place.task, [JSON.stringify(args)]);
      const method = textIn(args, "method") ?? "";
      const target = { method, url };
      const asked = {
        ...{ tool: NAME, input, declaration, args, prepared: { target, tree: null } },
        makeGround: null,
      };
      const bytes = Buffer.byteLength(textIn(args, "body") ?? "");
      return {
        target,
        tree: null,
        base: null,
        facts: [
          ["asks", `${method} ${url}`],
          ["sends", `${bytes} bytes, ${Object.keys(headers).length} headers`],
          ...(declaration.hosts.length > 0 ? declarationFacts(declaration) : []),
        ],
        act: (grant, call) => act(place, asked, grant, call),
      } satisfies Prepared;
    },
  };
}

/** The address with its port. A name and a password in it would be visible to everyone. */
function addressOf(text: string): string {
  const url = URL.parse(text);
  const refused = (why: string) => new HoldfastError("arguments_invalid", `${NAME}: url: ${why}`);
  if (!url || !["http:", "https:"].includes(url.protocol))
    throw refused("must begin with https:// or http://");
  if (url.username !== "" || url.password !== "") throw refused("must not contain a name or a password");
  const { protocol, hostname, pathname, search } = url;
  return `${protocol}//${hostname}:${portOf(url)}${pathname}${search}`;
}
