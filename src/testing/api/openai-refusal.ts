/** Owns how OpenAI's two APIs report that they refuse a request. */

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "invalid_request_error",
  404: "invalid_request_error",
  429: "rate_limit_exceeded",
};

export function openaiRefusal(status: number, message: string): unknown {
  const type = ERROR_TYPES[status] ?? "server_error";
  return { error: { message, type, param: null, code: status === 401 ? "invalid_api_key" : type } };
}
