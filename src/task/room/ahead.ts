/**
 * Owns what is begun before a task's files are ready, because it takes as long as they do: the holder of its
 * namespaces, and the network in them. Neither is recorded. If they are not used, they end with this process.
 */

import type { Lane } from "../../lane/index.ts";
import { ComingHolder } from "../../process/index.ts";
import { RoomNetwork } from "./network.ts";

export class Ahead {
  readonly holder: ComingHolder;
  readonly #capsule: string;
  #network: RoomNetwork | undefined;

  private constructor(homeDir: string, capsule: string) {
    this.#capsule = capsule;
    this.holder = new ComingHolder({ cwd: homeDir, mark: capsule, hasNetwork: true });
  }

  /** Undefined when it can't be begun; the code that needs it later reports why. */
  static begin(homeDir: string, capsule: string): Ahead | undefined {
    try {
      return new Ahead(homeDir, capsule);
    } catch {
      return undefined;
    }
  }

  /** Returns once it is begun. If that fails, the first process that needs the network tries again. */
  async openNetwork(lane: Lane): Promise<void> {
    this.#network = new RoomNetwork(this.#capsule, lane, []);
    const words = await this.holder.network();
    if (words) this.#network.environment({ network: words }).catch(() => {});
  }

  /** Call it when the task can't begin. */
  async end(): Promise<void> {
    this.holder.end();
    await this.#network?.close();
  }
}
