/**
 * Writes docs/openapi.json: the API of `holdfast serve`, from the routes themselves. A test compares the two.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeApi } from "../src/server/describe.ts";

const home = mkdtempSync(join(tmpdir(), "holdfast-openapi-"));
try {
  const path = join(import.meta.dirname, "..", "docs", "openapi.json");
  writeFileSync(path, `${JSON.stringify(await describeApi({ home }), null, 2)}\n`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
