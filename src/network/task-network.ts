/**
 * Owns the network of one task's sandbox, from its beginning to its end: the proxy and the forwards, on
 * sockets in the sandbox's network namespace, and the ways in to its leased ports. They live in the session
 * process.
 */
import type { Socket } from "node:net";
import { type EnterWords, InsideConnector, type InsideListener, listenInside } from "../process/index.ts";
import { proxyEnvironment } from "./environment.ts";
import { Forwards } from "./forward.ts";
import { Gate, type GateOptions } from "./gate.ts";
import { type HostPattern, parseHost } from "./hosts.ts";
import { InwardPort } from "./inward.ts";
import { PROXY_LIMITS, type ProxyLimits, SessionProxy } from "./proxy.ts";

/** A port in the sandbox whose connections this process answers itself. */
export interface Service {
  readonly port: number;
  accept(client: Socket): void;
}

export interface TaskNetworkOptions extends Omit<GateOptions, "hosts"> {
  /** Words before a command that start it in the sandbox's network namespace. */
  readonly enter: EnterWords;
  /** Patterns, as they were written. */
  readonly hosts: readonly string[];
  /** Leased ports: this machine's loopback leads in to them. */
  readonly inwardPorts?: readonly number[];
  readonly services?: readonly Service[];
  readonly limits?: ProxyLimits;
}

/** Neither a leased port, nor the usual port of any program. */
const FIRST_PROXY_PORT = 18_128;

export class TaskNetwork {
  readonly #enter: EnterWords;
  readonly #gate: Gate;
  readonly #proxy: SessionProxy;
  readonly #forwards: Forwards;
  readonly #connector: InsideConnector;
  readonly #inward = new Map<number, InwardPort | undefined>();
  readonly #listeners: InsideListener[] = [];
  /** What answers on each port that is open inside. The proxy's comes first. Empty once it is closed. */
  readonly #answering = new Map<number, Service["accept"]>();

  private constructor(options: TaskNetworkOptions) {
    const { enter, inwardPorts = [], services = [], limits = PROXY_LIMITS } = options;
    const hosts = options.hosts.map(parseHost);
    const served = services.map(({ port }) => port);
    const taken = new Set([...forwardsOf(hosts), ...inwardPorts, ...served]);
    let proxyPort = FIRST_PROXY_PORT;
    while (taken.has(proxyPort)) proxyPort += 1;
    this.#enter = enter;
    this.#gate = new Gate({ ...options, hosts });
    this.#proxy = new SessionProxy(this.#gate, limits);
    this.#forwards = new Forwards(limits);
    this.#connector = new InsideConnector(enter);
    // A port of the task's own stays its own inside: no forward takes it.
    this.#answering.set(proxyPort, (client) => this.#proxy.accept(client));
    for (const { port, accept } of services) this.#answering.set(port, accept);
    const forwards = forwardsOf(hosts).filter((port) => ![...inwardPorts, ...served].includes(port));
    for (const port of forwards) this.#answering.set(port, this.#forwardTo(port));
  }

  /** Fails with `invalid_host` or `network_failed`, and then has nothing open. */
  static async begin(options: TaskNetworkOptions): Promise<TaskNetwork> {
    const network = new TaskNetwork(options);
    const { inwardPorts = [], limits = PROXY_LIMITS } = options;
    const opened = await Promise.allSettled([
      network.#listen(network.#ports),
      ...inwardPorts.map((port) => network.#lead(port, limits)),
    ]);
    const failed = opened.find(({ status }) => status === "rejected");
    if (failed?.status !== "rejected") return network;
    network.close();
    throw failed.reason;
  }

  /** Variables with which programs in the sandbox find the proxy. */
  get environment(): Record<string, string> {
    return proxyEnvironment(this.#ports[0] ?? 0);
  }

  /** Leased ports that another program on this machine has taken: they can't be reached from outside. */
  get blockedPorts(): number[] {
    return [...this.#inward].flatMap(([port, way]) => (way === undefined ? [port] : []));
  }

  /** Allows one more host from now on. */
  async allow(host: string): Promise<void> {
    const pattern = parseHost(host);
    if (pattern.kind !== "loopback") return this.#gate.allow(pattern);
    const { port } = pattern;
    if (this.#answering.has(port) || this.#inward.has(port)) return;
    await this.#listenMore(port, this.#forwardTo(port));
  }

  /** Offers one more service from now on. */
  async serve(service: Service): Promise<void> {
    await this.#listenMore(service.port, service.accept);
  }

  close(): void {
    for (const listener of this.#listeners) listener.close();
    for (const way of this.#inward.values()) way?.close();
    this.#proxy.close();
    this.#forwards.close();
    this.#connector.close();
    this.#answering.clear();
  }

  get #isClosed(): boolean {
    return this.#answering.size === 0;
  }

  get #ports(): number[] {
    return [...this.#answering.keys()];
  }

  #forwardTo(port: number): Service["accept"] {
    return (client) => {
      this.#gate.countForward(port);
      this.#forwards.accept(client, port);
    };
  }

  async #listenMore(port: number, accept: Service["accept"]): Promise<void> {
    if (this.#isClosed) return;
    this.#answering.set(port, accept);
    await this.#listen([port]).catch((error: unknown) => {
      this.#answering.delete(port);
      throw error;
    });
  }

  async #listen(ports: readonly number[]): Promise<void> {
    const accept = (client: Socket, port: number) => {
      const answer = this.#answering.get(port);
      if (answer) answer(client);
      else client.destroy();
    };
    const listener = await listenInside(this.#enter, ports, accept);
    this.#listeners.push(listener);
    if (this.#isClosed) listener.close();
  }

  async #lead(port: number, limits: ProxyLimits): Promise<void> {
    const connect = (inner: number) => this.#connector.connect(inner);
    this.#inward.set(port, await InwardPort.open(port, connect, limits));
  }
}

function forwardsOf(hosts: readonly HostPattern[]): number[] {
  return [...new Set(hosts.flatMap((one) => (one.kind === "loopback" ? [one.port] : [])))];
}
