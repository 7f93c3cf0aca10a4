export { apiTokenPath } from "./api-token.ts";
export { serve } from "./serve.ts";
export { parseAddress } from "./server.ts";
