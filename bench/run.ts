/**
 * One command, one table: `npm run bench`. Each row is a ratio of two things measured in turns in this run.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { benchAgents } from "./agents.ts";
import { benchBroker } from "./broker.ts";
import { benchCapsules } from "./capsules.ts";
import { benchGateway } from "./gateway.ts";
import { benchJournal, benchList } from "./journal.ts";
import { printTable } from "./measure.ts";
import { benchMerging } from "./merging.ts";
import { benchNetwork } from "./network.ts";
import { benchProcesses } from "./processes.ts";
import { benchSandbox } from "./sandbox.ts";
import { benchSessions } from "./sessions.ts";
import { benchVerify } from "./verify.ts";

const benches = {
  journal: benchJournal,
  list: benchList,
  capsules: benchCapsules,
  processes: benchProcesses,
  sandbox: benchSandbox,
  sessions: benchSessions,
  network: benchNetwork,
  broker: benchBroker,
  agents: benchAgents,
  gateway: benchGateway,
  verify: benchVerify,
  merging: benchMerging,
};
const wanted = process.argv.slice(2);
const progress = (text: string) => process.stderr.write(`bench: ${text} …\n`);

// In the project, not in the system's temporary directory, which may be memory, where a sync costs nothing.
const directory = await mkdtemp(join(import.meta.dirname, "..", ".bench-"));
try {
  const rows = [];
  for (const [name, bench] of Object.entries(benches)) {
    if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await bench(directory, progress)));
  }
  printTable(rows);
} finally {
  await rm(directory, { recursive: true, force: true });
}
