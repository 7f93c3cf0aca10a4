/**
 * A person's home directory, made by a test: files and links in it, by their paths below it.
 */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { findTools, type Tools, type ToolsAsked } from "../../src/process/sandbox/tools.ts";
import { TempDir } from "./home.ts";

export class UserHome extends TempDir {
  get dir(): string {
    return this.join("user");
  }

  at(path: string): string {
    return this.join("user", path);
  }

  /** An executable file; by default a shell script. */
  file(path: string, text = "#!/bin/sh\necho ran\n"): string {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text, { mode: 0o755 });
    return this.at(path);
  }

  link(path: string, target: string): string {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync(target, this.at(path));
    return this.at(path);
  }

  /** The tools that are found for this user, with these directories on PATH before the system's. */
  tools(path: readonly string[], asked: Partial<ToolsAsked> = {}): Tools {
    const PATH = [...path.map((dir) => (dir.startsWith("/") ? dir : this.at(dir))), "/usr/bin", "/bin"].join(
      ":",
    );
    return findTools({ userHome: this.dir, read: [], apart: [], ...asked, env: { PATH, ...asked.env } });
  }
}
