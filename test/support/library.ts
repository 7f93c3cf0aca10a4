/**
 * A home for tests of the published library, and the library as npm publishes it.
 */
import { join } from "node:path";
import { HostHome } from "./hosts.ts";

const library = join(import.meta.dirname, "..", "..", "dist", "index.js");
export const { openHoldfast, isHoldfastError } = (await import(
  library
)) as typeof import("../../src/index.ts");

export class LibraryHome extends HostHome {
  holdfast() {
    return openHoldfast({ home: this.dir });
  }
}
