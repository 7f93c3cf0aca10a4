/**
 * Owns which paths a request may name: absolute ones. The directory in which `serve` was started says nothing to a client.
 */
import { isAbsolute } from "node:path";
import { Refusal } from "../http/index.ts";

export function assertAbsolute(field: string, path: string | undefined): void {
  if (path !== undefined && !isAbsolute(path))
    throw new Refusal(400, "invalid_data", `${field}: an absolute path is needed`);
}
