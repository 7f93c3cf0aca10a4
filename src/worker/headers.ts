/**
 * Owns the headers of an `http_request`: which ones may be set, and where a credential goes. The worker
 * replaces `${env.NAME}` in a value after the grant was verified, so no argument contains the value.
 */
import { HoldfastError, type Values } from "../contract/index.ts";

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
/** Headers that the request itself sets. */
const OURS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);
const PLACE = /\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Fails with `arguments_invalid`. `env`: the variables that the tool has. */
export function assertHeaders(headers: Values, env: readonly string[]): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name))
      throw refused(`${JSON.stringify(name.slice(0, 60))} is not a valid name of a header`);
    if (OURS.has(name.toLowerCase()))
      throw refused(`the header ${name} can't be set, because the request sets it itself`);
    if (!isPlain(value))
      throw refused(`the value of the header ${name} has a character that headers can't have`);
    for (const [, variable = ""] of value.matchAll(PLACE))
      if (!env.includes(variable))
        throw refused(`the tool has no variable ${variable}: add it to tools.http_request.env`);
  }
}

export function withCredentials(
  headers: Values,
  values: Values,
  env: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, text]) => {
      const value = text.replace(PLACE, (place, variable: string) =>
        env.includes(variable) ? (values[variable] ?? "").trim() : place,
      );
      // The message must not contain the value.
      if (!isPlain(value))
        throw new HoldfastError(
          "credential_missing",
          `the variable in the header ${name} contains a line break, which headers can't have`,
        );
      return [name, value];
    }),
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const isPlain = (value: string) => !/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value);

const refused = (why: string) => new HoldfastError("arguments_invalid", `http_request: ${why}`);
