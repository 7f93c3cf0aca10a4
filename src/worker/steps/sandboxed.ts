/**
 * Owns running a tool's program: in a sandbox of its own, on the files that the order names, with the
 * credentials in its environment and the network that its tool names. All processes that it starts end with
 * it, and with the worker. If something ended it, it is not known what it did until then.
 */
import { join } from "node:path";
import type { View } from "../../capsule/index.ts";
import { HoldfastError, type Values } from "../../contract/index.ts";
import type { ToolOutcome } from "../../lane/index.ts";
import { Contacts, contactFields, TaskNetwork } from "../../network/index.ts";
import { baseEnvironment, CAPSULE_MARK, launch, runCommand } from "../../process/index.ts";
import { withHosts } from "../../task/index.ts";
import { GROUND_DIRS, type Ground } from "../order.ts";
import { allowing, type Reach, refusalLine } from "../reach.ts";
import { Said } from "./said.ts";

export interface Program {
  readonly command: readonly string[];
  readonly ground: Ground;
  readonly env: Values;
  readonly reach: Reach;
  readonly timeoutMinutes: number;
  readonly input?: string;
  readonly writable?: readonly string[];
  readonly readable?: readonly (readonly [string, string])[];
}

const MINUTE_MS = 60_000;
/** The exit status of a program that a signal ended is this and the signal's number. */
const ENDED = 128;
const SIGNALS = 65;

interface Network {
  readonly entry: Pick<View, "enter" | "hasNetwork">;
  readonly environment: Values;
}

export async function runSandboxed(program: Program, signal: AbortSignal): Promise<ToolOutcome> {
  const { ground, reach } = program;
  const said = new Said();
  const onRefused = (refusal: Parameters<typeof refusalLine>[0]) =>
    said.add(Buffer.from(refusalLine(refusal)));
  const contacts = new Contacts();
  const options = { ...reach, onRefused, allowing, contacts };
  const run = async (network: Network) => withContacts(await runIn(program, network, said, signal), contacts);
  const { view } = ground;
  if (!view) {
    if (reach.hosts.length === 0) return run({ entry: { enter: [], hasNetwork: false }, environment: {} });
    return withHosts(options, run);
  }
  const network = await TaskNetwork.begin({ enter: view.network, ...options });
  try {
    return await run({ entry: view, environment: network.environment });
  } finally {
    network.close();
  }
}

/** The hosts that it asked for belong to the facts of its outcome. */
function withContacts(outcome: ToolOutcome, contacts: Contacts): ToolOutcome {
  const counts = contacts.take();
  if (!counts) return outcome;
  const { allowed, refused, ...more } = contactFields(counts);
  const plain = (all: typeof allowed) => all.map(({ host, connections }) => ({ host, connections }));
  const network = { ...more, allowed: plain(allowed), refused: plain(refused) };
  return { ...outcome, facts: { ...outcome.facts, network } };
}

async function runIn(
  program: Program,
  network: Network,
  said: Said,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const { input = "", timeoutMinutes } = program;
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let isLate = false;
  // A tool may hang while a person waits for it.
  const overdue = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMinutes * MINUTE_MS);
  try {
    const { exitCode, signal: endedBy } = await runCommand({
      ...launchOf(program, network),
      signal: ending.signal,
      hasInput: true,
      onStart: (_, stdin) => void stdin?.end(input),
      onOutput: (chunk) => said.add(chunk),
    });
    const why = isLate
      ? `it took longer than ${timeoutMinutes} minutes and was ended`
      : signal.aborted
        ? "it was stopped"
        : endedBy
          ? `it was ended by ${endedBy}`
          : exitCode !== null && exitCode > ENDED && exitCode < ENDED + SIGNALS
            ? `it was ended by signal ${exitCode - ENDED}`
            : undefined;
    return {
      outcome: exitCode === 0 && !why ? "ok" : "error",
      text: [
        said.text,
        ...(said.isCut ? ["holdfast: the rest of the output was too long and was left out"] : []),
        ...(why ? [`holdfast: ${why}`] : []),
      ]
        .filter(Boolean)
        .join("\n"),
      facts: { ...(exitCode !== null && { exit_code: exitCode }), ...(why && { isUnknown: true }) },
    };
  } finally {
    clearTimeout(overdue);
    signal.removeEventListener("abort", end);
  }
}

function launchOf(program: Program, { entry, environment }: Network) {
  const { ground, command, writable = [], readable = [] } = program;
  const at = (name: keyof typeof GROUND_DIRS) => join(ground.scratch, GROUND_DIRS[name]);
  const env = baseEnvironment({
    ...environment,
    HOME: at("home"),
    CI: "true",
    ...program.env,
    [CAPSULE_MARK]: ground.scratch,
  });
  return launch(ground.sandbox, {
    command,
    tree: ground.view?.workTree ?? at("empty"),
    entry,
    env,
    writable: [at("home"), ...writable],
    readable,
    tmp: at("tmp"),
    isReadOnly: false,
  });
}

/** Fails if the order has no place to act in. */
export function groundOf(ground: Ground | null): Ground {
  if (!ground) throw new HoldfastError("tool_failed", "the order has no place to act in");
  return ground;
}
