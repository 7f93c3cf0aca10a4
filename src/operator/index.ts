export { grantTo } from "./granting.ts";
