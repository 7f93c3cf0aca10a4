/**
 * Owns the network of a task: begun with the first process that needs it, in the namespace of the capsule's holder, and
 * begun anew where that is another by now. The processes of a task find its proxy by their environment.
 *
 * T11 A task's processes reach what its lane names, or a person allowed for this task; what they asked for is on record
 *     at the end of each turn, and so is what they were refused.
 */
import type { View } from "../../capsule/index.ts";
import type { LaneInForce } from "../../lane/index.ts";
import {
  type ContactCounts,
  Contacts,
  type Refusal,
  type Service,
  TaskNetwork,
  type TaskNetworkOptions,
} from "../../network/index.ts";
import { enterHolder, enterNetwork, withNetwork } from "../../process/index.ts";

export type OnRefused = (refusal: Refusal) => void;

/** Beside the proxy's, and no port that some program is known by. */
const FIRST_SERVICE_PORT = 18_228;

interface Begun {
  readonly holder: string;
  readonly network: Promise<TaskNetwork>;
}

/** Of capsules, by their directories: what stands in the same namespace has the same network. */
const open = new Map<string, RoomNetwork>();

export class RoomNetwork {
  readonly #capsule: string;
  readonly #hosts: string[];
  readonly #ports: readonly number[];
  readonly #services: Service[] = [];
  /** Of all that were begun. */
  readonly #contacts = new Contacts();
  #begun: Begun | undefined;
  #onRefused: OnRefused = () => {};

  private constructor(capsule: string, { hosts }: LaneInForce, ports: readonly number[]) {
    this.#capsule = capsule;
    this.#hosts = [...hosts];
    this.#ports = ports;
  }

  /** The one that is open for this capsule, or a new one. `ports`: those that are leased to it, and lead in to it. */
  static of(capsule: string, lane: LaneInForce, ports: readonly number[]): RoomNetwork {
    return open.get(capsule) ?? new RoomNetwork(capsule, lane, ports);
  }

  /** Who hears of a host that was refused, once of each. */
  hear(onRefused: OnRefused): void {
    this.#onRefused = onRefused;
  }

  /** What its processes need to find the way out. */
  async environment(view: Pick<View, "network">): Promise<Readonly<Record<string, string>>> {
    if (view.network.length === 0) return {};
    const holder = view.network.join(" ");
    const there = this.#begun;
    if (there?.holder === holder) return (await there.network).environment;
    const network = this.#begin(view.network);
    this.#begun = { holder, network };
    open.set(this.#capsule, this);
    closeWhenOpen(there);
    return (await network).environment;
  }

  /** Has connections to a port inside answered by us; says which port. */
  async serve(accept: Service["accept"]): Promise<number> {
    let port = FIRST_SERVICE_PORT;
    while (this.#ports.includes(port) || this.#services.some((one) => one.port === port)) port += 1;
    const service = { port, accept };
    const there = await this.#begun?.network;
    this.#services.push(service);
    await there?.serve(service);
    return port;
  }

  /** One host more, for this task. */
  async allow(host: string): Promise<void> {
    this.#hosts.push(host);
    await (await this.#begun?.network)?.allow(host);
  }

  /** Leased ports that another program of this machine has taken meanwhile: a person finds that one there. */
  async blockedPorts(): Promise<readonly number[]> {
    return (await this.#begun?.network)?.blockedPorts ?? [];
  }

  /** Connections since the last call. */
  takeCounts(): ContactCounts | undefined {
    return this.#contacts.take();
  }

  async close(): Promise<void> {
    const begun = this.#begun;
    this.#begun = undefined;
    if (open.get(this.#capsule) === this) open.delete(this.#capsule);
    await closeWhenOpen(begun);
  }

  #begin(enter: readonly string[]): Promise<TaskNetwork> {
    const onRefused: OnRefused = (refusal) => this.#onRefused(refusal);
    const ports = { inwardPorts: this.#ports, services: this.#services };
    return TaskNetwork.begin({ enter, hosts: this.#hosts, ...ports, contacts: this.#contacts, onRefused });
  }
}

/** One that could not be begun has nothing open. */
async function closeWhenOpen(begun: Begun | undefined): Promise<void> {
  (await begun?.network.catch(() => undefined))?.close();
}

export interface WorkNetwork {
  readonly entry: Pick<View, "enter" | "hasNetwork">;
  readonly environment: Readonly<Record<string, string>>;
}

/** Of a piece of work that has no capsule yet: set-up. */
export interface WorkReach extends Pick<TaskNetworkOptions, "hosts" | "onRefused" | "allowing"> {
  /** What it asked for is counted there. */
  readonly contacts: Contacts;
}

/** A network for one piece of work. It has a proxy whether or not there are hosts: what is refused has to have a name. */
export function withHosts<T>(reach: WorkReach, work: (network: WorkNetwork) => Promise<T>): Promise<T> {
  return withNetwork(async (holder) => {
    const network = await TaskNetwork.begin({ enter: enterNetwork(holder), ...reach });
    try {
      const entry = { enter: enterHolder(holder), hasNetwork: true };
      return await work({ entry, environment: network.environment });
    } finally {
      network.close();
    }
  });
}
