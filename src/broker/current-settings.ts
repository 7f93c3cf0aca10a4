/**
 * Owns the user's settings in the broker: as they are in the file at this moment. They are parsed again only
 * when the file has changed.
 */
import { statSync } from "node:fs";
import type { Settings } from "../config/index.ts";
import { readSettings } from "../home/index.ts";
import { settingsPath } from "../util/index.ts";

export class CurrentSettings {
  readonly #homeDir: string;
  #version = "";
  #settings: Promise<Settings> | undefined;

  constructor(homeDir: string) {
    this.#homeDir = homeDir;
  }

  read(): Promise<Settings> {
    const stats = statSync(settingsPath(this.#homeDir), { bigint: true, throwIfNoEntry: false });
    const version = stats ? [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ") : "none";
    if (!this.#settings || version !== this.#version) {
      this.#version = version;
      this.#settings = readSettings(this.#homeDir);
    }
    return this.#settings;
  }
}
