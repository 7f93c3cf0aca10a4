export { type Child, startSelf } from "./child.ts";
