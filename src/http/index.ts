export { bearerOf, isSameToken } from "./bearer.ts";
export { assertJson, parseBody, readBody } from "./body.ts";
export { assertLocal } from "./local.ts";
export { type FailureForm, fail, notFound, Refusal } from "./refusal.ts";
export { reply } from "./reply.ts";
export { findRoute, hasPath, type Route, urlOf } from "./routes.ts";
