/**
 * A program between Holdfast and git, for tests of what git does and how often it is started.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TempDir } from "./home.ts";

/** While it is there, each start of git by this process first runs the lines of shell. */
export class GitWrapper extends TempDir {
  readonly #path = process.env["PATH"] ?? "";

  constructor(lines: string) {
    super();
    const text = `#!/bin/sh\nPATH='${this.#path}'\n${lines}\nexec git "$@"\n`;
    writeFileSync(join(this.path, "git"), text, { mode: 0o755 });
    process.env["PATH"] = `${this.path}:${this.#path}`;
  }

  override [Symbol.dispose](): void {
    process.env["PATH"] = this.#path;
    super[Symbol.dispose]();
  }
}
