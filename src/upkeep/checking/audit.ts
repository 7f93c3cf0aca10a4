/**
 * Owns the audit of a session: its journal, and everything that the journal names. It writes nothing. Damage
 * in one place hides none in another.
 */
import { type FoundSession, type Home, PackChecks, repoPathOf } from "../../home/index.ts";
import { readManifest } from "../../session/index.ts";
import { readHomes } from "../../task/index.ts";
import { auditJournal, type JournalAudit } from "./audit-journal.ts";
import { auditKept, type KeptAudit, type KeptOptions } from "./audit-kept.ts";

export interface Audit extends JournalAudit, KeptAudit {}

export async function auditSession(
  home: Home,
  { id, dir }: Pick<FoundSession, "id" | "dir">,
  { deep, packs = new PackChecks(home.onProgress) }: Pick<KeptOptions, "deep"> & Partial<KeptOptions>,
): Promise<Audit> {
  const audit = await auditJournal(dir, home.onProgress);
  const manifest = await readManifest(dir).catch(() => undefined);
  const { state } = audit.good;
  const named = manifest ? manifest.repo : state.repo;
  const repo = repoPathOf(home, { repo: named, lacksRepo: state.lacksRepo });
  // The audit of the journal reports a `homes.json` that can't be read.
  audit.kept.substitute(await readHomes(dir).catch(() => new Map()));
  const kept = await auditKept(home, { id, dir, repo }, audit.kept, { deep, packs });
  return { ...audit, ...kept, findings: [...audit.findings, ...kept.findings] };
}
