/**
 * Owns the network of a task. It begins with the first process that needs it, in the namespace of the
 * capsule's holder, and begins anew when that holder changes. The task's processes find its proxy through
 * their environment.
 *
 * network-1 A task's processes reach the hosts that its lane names or that a person allowed for this task.
 *    The hosts that they asked for, and those that they were refused, are recorded at the end of each turn, and of each check.
 */
import type { View } from "../../capsule/index.ts";
import type { Lane } from "../../lane/index.ts";
import {
  type ContactCounts,
  Contacts,
  type RefusedHost,
  type Service,
  TaskNetwork,
  type TaskNetworkOptions,
} from "../../network/index.ts";
import { enterHolder, enterNetwork, withNetwork } from "../../process/index.ts";

export type OnRefused = (refusal: RefusedHost) => void;

/** Not the proxy's port, and not the well-known port of any program. */
const FIRST_SERVICE_PORT = 18_228;

interface Begun {
  readonly holder: string;
  readonly network: Promise<TaskNetwork>;
}

/** The networks by the directories of their capsules: processes in the same namespace share a network. */
const open = new Map<string, RoomNetwork>();

export class RoomNetwork {
  readonly #capsule: string;
  readonly #hosts: string[];
  readonly #ports: readonly number[];
  readonly #services: Service[] = [];
  /** Counts for all networks that were begun. */
  readonly #contacts = new Contacts();
  #begun: Begun | undefined;
  #onRefused: OnRefused = () => {};

  /** `ports` are leased to the capsule and lead in to it. */
  constructor(capsule: string, { hosts }: Pick<Lane, "hosts">, ports: readonly number[]) {
    this.#capsule = capsule;
    this.#hosts = [...hosts];
    this.#ports = ports;
  }

  /** The network that is open for this capsule. */
  static find(capsule: string): RoomNetwork | undefined {
    return open.get(capsule);
  }

  /** Sets who is told of a refused host, once for each host. */
  hear(onRefused: OnRefused): void {
    this.#onRefused = onRefused;
  }

  /** The environment variables that its processes need to find the proxy. */
  async environment(view: Pick<View, "network">): Promise<Readonly<Record<string, string>>> {
    if (view.network.length === 0) return {};
    const holder = view.network.join(" ");
    const there = this.#begun;
    if (there?.holder === holder) return (await there.network).environment;
    const network = this.#begin(view.network);
    const begun = { holder, network };
    this.#begun = begun;
    open.set(this.#capsule, this);
    // The next process tries again.
    network.catch(() => {
      if (this.#begun === begun) this.#begun = undefined;
    });
    closeWhenOpen(there);
    return (await network).environment;
  }

  /** Answers connections to a port inside the sandbox, and returns the port. */
  async serve(accept: Service["accept"]): Promise<number> {
    let port = FIRST_SERVICE_PORT;
    while (this.#ports.includes(port) || this.#services.some((one) => one.port === port)) port += 1;
    const service = { port, accept };
    // A network that is begun from now on has the service. This one has to be told.
    const begun = this.#begun;
    this.#services.push(service);
    try {
      await (await begun?.network)?.serve(service);
    } catch (error) {
      this.#services.splice(this.#services.indexOf(service), 1);
      throw error;
    }
    return port;
  }

  /** Allows one more host for this task. */
  async allow(host: string): Promise<void> {
    this.#hosts.push(host);
    await (await this.#begun?.network)?.allow(host);
  }

  /**
   * Leased ports that another program of this machine has taken meanwhile: a person who connects reaches that
   * program.
   */
  async blockedPorts(): Promise<readonly number[]> {
    return (await this.#begun?.network)?.blockedPorts ?? [];
  }

  /** Counts of connections since the last call. */
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

/** A network that could not be begun has nothing to close. */
async function closeWhenOpen(begun: Begun | undefined): Promise<void> {
  (await begun?.network.catch(() => undefined))?.close();
}

export interface WorkNetwork {
  readonly entry: Pick<View, "enter" | "hasNetwork">;
  readonly environment: Readonly<Record<string, string>>;
}

/** For work that has no capsule: set-up, an action. */
export interface WorkReach
  extends Pick<TaskNetworkOptions, "hosts" | "onRefused" | "allowing" | "mayBePrivate"> {
  /** Counts what it asks for. */
  readonly contacts: Contacts;
}

/**
 * A network for one piece of work. It has a proxy even without hosts, because refused hosts have to be named.
 */
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
