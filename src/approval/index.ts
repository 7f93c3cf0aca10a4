export { canonical, parseExact } from "./canonical.ts";
export { actionIn, declarationHash, fingerprintOf } from "./fingerprint.ts";
export { GRANT_LIFE_MS, signedBytes, timeAfter, verifyGrant } from "./grant.ts";
export { operatorPublicPath, readOperatorPublicKey } from "./operator-public.ts";
export { spend, wasSpent } from "./spend.ts";
