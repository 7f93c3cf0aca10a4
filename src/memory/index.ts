export { RedactedPieces } from "./pieces.ts";
export { redactSecrets, withoutSecrets } from "./redaction.ts";
