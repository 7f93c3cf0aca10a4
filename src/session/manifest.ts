/**
 * Owns `session.json`, one small sealed file that identifies a session. The journal has the same facts and is
 * the truth; a reader needs the manifest before it opens the journal.
 */
import { HoldfastError, isSessionId, type SessionId } from "../contract/index.ts";
import { damaged, FORMAT_VERSION } from "../journal/index.ts";
import { IN_SESSION, manifestPath, openSealedJson, readIfThere, sealJson } from "../util/index.ts";

export interface Manifest {
  readonly session: SessionId;
  readonly user: string;
  readonly agent: string | null;
  readonly repo: string | null;
  readonly createdAt: string;
}

export function encodeManifest(manifest: Manifest): Uint8Array {
  const { session, user, agent, repo, createdAt } = manifest;
  return sealJson({ holdfast: FORMAT_VERSION, session, user, agent, repo, createdAt });
}

/** Undefined when there is no manifest, and so no session. */
export async function readManifest(sessionDir: string): Promise<Manifest | undefined> {
  const bytes = await readIfThere(manifestPath(sessionDir));
  return bytes && decodeManifest(bytes);
}

function decodeManifest(bytes: Buffer): Manifest {
  const value = openSealedJson(bytes);
  if (typeof value?.["holdfast"] === "number" && value["holdfast"] > FORMAT_VERSION) {
    throw new HoldfastError(
      "newer_format",
      `the session was written in format ${value["holdfast"]}; this program reads formats up to ${FORMAT_VERSION}`,
    );
  }
  const { session, user, agent, repo, createdAt } = value ?? {};
  const isNamed = typeof session === "string" && isSessionId(session) && typeof user === "string";
  if (!isNamed || typeof createdAt !== "string" || !isTextOrNull(agent) || !isTextOrNull(repo)) {
    throw damaged({ file: manifestPath(IN_SESSION), offset: 0, seq: 0, reason: "the manifest was changed" });
  }
  return { session, user, agent, repo, createdAt };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
