/**
 * Owns what is begun ahead of a task's files, because it takes as long as these do: the holder of its namespaces, and
 * its network in there. Neither is on any record: what is not used ends with us.
 */

import type { LaneInForce } from "../../lane/index.ts";
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

  /** Undefined where it can't be: why is told by whatever needs it. */
  static begin(homeDir: string, capsule: string): Ahead | undefined {
    try {
      return new Ahead(homeDir, capsule);
    } catch {
      return undefined;
    }
  }

  /** Returns when it is begun. Whether it could be is told to the first process that needs it. */
  async openNetwork(lane: LaneInForce): Promise<void> {
    this.#network = RoomNetwork.of(this.#capsule, lane, []);
    const words = await this.holder.network();
    if (words) this.#network.environment({ network: words }).catch(() => {});
  }

  /** The task can't begin. */
  async end(): Promise<void> {
    this.holder.end();
    await this.#network?.close();
  }
}
