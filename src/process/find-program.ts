/**
 * Owns finding a program where a shell would find it.
 */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

export function findProgram(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        // A directory is executable too, but is not a program.
        return statSync(path).isFile();
      } catch {
        return false;
      }
    });
}
