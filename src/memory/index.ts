export { redactSecrets, withoutSecrets } from "./redaction.ts";
