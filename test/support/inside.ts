/**
 * The network of a task in a namespace without a way out, and commands that run in it.
 */
import { Contacts } from "../../src/network/contacts.ts";
import type { RefusedHost } from "../../src/network/gate.ts";
import { TaskNetwork, type TaskNetworkOptions } from "../../src/network/task-network.ts";
import { TestNamespace } from "./namespace.ts";
import { LOOPBACK_IS_PUBLIC } from "./upstreams.ts";

export class Inside implements AsyncDisposable {
  readonly refused: RefusedHost[] = [];
  readonly contacts = new Contacts();
  readonly namespace: TestNamespace;
  network!: TaskNetwork;

  private constructor(namespace: TestNamespace) {
    this.namespace = namespace;
  }

  static async begin(hosts: string[], options: Partial<TaskNetworkOptions> = {}): Promise<Inside> {
    const inside = new Inside(await TestNamespace.start());
    const onRefused = (refusal: RefusedHost) => void inside.refused.push(refusal);
    const own = { enter: inside.namespace.enter, contacts: inside.contacts, hosts, onRefused };
    inside.network = await TaskNetwork.begin({ ...own, ...LOOPBACK_IS_PUBLIC, ...options });
    return inside;
  }

  /** Runs a command with the variables that lead to the proxy. */
  run(argv: readonly string[], env: Record<string, string> = {}) {
    return this.namespace.run(argv, { ...this.network.environment, ...env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.network.close();
    await this.namespace[Symbol.asyncDispose]();
  }
}
