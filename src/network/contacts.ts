/**
 * Owns the count of connections by host, between one look at it and the next.
 *
 * contacts-1 It is bounded: a hundred hosts are named, and for the others there is only a number of
 *    connections. Refused connections are counted separately, so that asking for many unreachable names hides
 *    no host that was reached.
 */
export interface HostCount {
  readonly host: string;
  readonly connections: number;
}

export interface ContactCounts {
  readonly allowed: readonly HostCount[];
  readonly refused: readonly HostCount[];
  /** Connections to further hosts; left out if there were none. */
  readonly more?: { readonly allowed: number; readonly refused: number };
}

/** As fields of a record. */
export function contactFields({ allowed, refused, ...counts }: ContactCounts) {
  return { ...counts, allowed: [...allowed], refused: [...refused] };
}

type Kind = "allowed" | "refused";

export const MAX_HOSTS = 100;

export class Contacts {
  #counts = noCounts();
  #more = { allowed: 0, refused: 0 };

  add(kind: Kind, host: string): void {
    const counts = this.#counts[kind];
    const before = counts.get(host);
    if (before === undefined && counts.size >= MAX_HOSTS) this.#more[kind] += 1;
    else counts.set(host, (before ?? 0) + 1);
  }

  /** The connections since the last call; undefined if there were none. */
  take(): ContactCounts | undefined {
    const [counts, more] = [this.#counts, this.#more];
    if (counts.allowed.size + counts.refused.size === 0) return undefined;
    this.#counts = noCounts();
    this.#more = { allowed: 0, refused: 0 };
    return {
      allowed: listOf(counts.allowed),
      refused: listOf(counts.refused),
      ...(more.allowed + more.refused > 0 && { more }),
    };
  }
}

function noCounts(): Record<Kind, Map<string, number>> {
  return { allowed: new Map(), refused: new Map() };
}

function listOf(counts: ReadonlyMap<string, number>): HostCount[] {
  return [...counts].map(([host, connections]) => ({ host, connections }));
}
