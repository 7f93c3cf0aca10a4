export { askedIn, commandLine } from "./assignments.ts";
export { RedactedPieces } from "./pieces.ts";
export { redactSecrets, withoutSecrets } from "./redaction.ts";
export { findSecrets } from "./rules.ts";
export {
  begunAtEnd,
  endedAtStart,
  redactingValues,
  ruleOf,
  type Secret,
  secretsIn,
  shortened,
  takeOut,
  ValueFilter,
  variableOf,
  WholeValues,
  withoutBegun,
  withoutValuesIn,
} from "./values.ts";
