export { redactSecrets } from "./redaction.ts";
