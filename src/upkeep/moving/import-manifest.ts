/**
 * Owns the limits on the manifest of an import: which names it may bring, and how much of each.
 */
import { join } from "node:path";
import { HoldfastError, isSessionId, type SessionId } from "../../contract/index.ts";
import { FORMAT_VERSION, isPosition, MAX_SEGMENT, MAX_SEGMENT_BYTES } from "../../journal/index.ts";
import {
  blobsDir,
  homesPath,
  IN_SESSION,
  isPlainObject,
  journalDir,
  openSealedJson,
  snapshotsPath,
} from "../../util/index.ts";
import { isMessagePath, MAX_CARRIED } from "./carried-mail.ts";
import type { ExportedFile, ExportManifest } from "./export.ts";
import { artifactPath } from "./named.ts";

export const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
const MAX_HOMES_BYTES = 64 * 1024 * 1024;
const SEGMENT_FILE = new RegExp(`^${journalDir(IN_SESSION)}/(\\d{6,8})\\.jsonl$`);
const MAX_TOTAL_BYTES = 64 * 1024 * 1024 * 1024;

export function parseManifest(line: Buffer): ExportManifest & { session: SessionId } {
  const value = openSealedJson(line);
  if (value?.["kind"] !== "export") throw invalid("it does not begin with a complete manifest");
  if (typeof value["holdfast"] !== "number" || value["holdfast"] > FORMAT_VERSION) {
    throw new HoldfastError(
      "newer_format",
      `the export has format ${String(value["holdfast"])}; this program reads up to format ${FORMAT_VERSION}`,
    );
  }
  const { session, home, exportedAt, head, files } = value;
  const isNamed =
    typeof session === "string" && isSessionId(session) && typeof home === "string" && home.length > 0;
  if (!isNamed || typeof exportedAt !== "string" || !isPosition(head) || !Array.isArray(files))
    throw invalid("its manifest does not have the right form");
  if (!files.every(isExportedFile)) throw refused("its manifest names files that no session has");
  if (new Set(files.map(({ path }) => path)).size !== files.length)
    throw refused("its manifest names a file twice");
  if (files.filter(({ path }) => isMessagePath(path, 0)).length > MAX_CARRIED)
    throw refused("it has more messages than an inbox can hold");
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > MAX_TOTAL_BYTES)
    throw refused(`its files have ${total} bytes in total, more than an import may have`);
  return {
    holdfast: FORMAT_VERSION,
    kind: "export",
    session,
    home: home.slice(0, 100),
    exportedAt,
    head,
    files,
  };
}

function isExportedFile(value: unknown): value is ExportedFile {
  if (!isPlainObject(value)) return false;
  const { path, bytes, sha256 } = value;
  if (typeof path !== "string" || !Number.isSafeInteger(bytes) || (bytes as number) < 0) return false;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) return false;
  if (path === snapshotsPath(IN_SESSION) || path === join(blobsDir(IN_SESSION), sha256)) return true;
  if (path === homesPath(IN_SESSION)) return (bytes as number) <= MAX_HOMES_BYTES;
  const [, task = "", , name = ""] = path.split("/");
  if (path === artifactPath(task, name)) return true;
  const segment = SEGMENT_FILE.exec(path)?.[1];
  if (segment === undefined) return isMessagePath(path, bytes as number);
  return Number(segment) >= 1 && Number(segment) < MAX_SEGMENT && (bytes as number) <= MAX_SEGMENT_BYTES;
}

export function invalid(reason: string): HoldfastError {
  return new HoldfastError("export_invalid", `the file is not a complete export: ${reason}`);
}

export function refused(reason: string): HoldfastError {
  return new HoldfastError("export_refused", `the file was refused: ${reason}`);
}
