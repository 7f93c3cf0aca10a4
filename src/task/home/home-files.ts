/**
 * Owns which files of a session's HOME are part of its checkpoints. Pure: from a path to an answer.
 *
 * Left out are caches and programs that an agent has installed for itself, because they can be fetched again
 * and would make every checkpoint large, and all files that are credentials by their name. A credential
 * belongs to this session on this machine: a snapshot would give it to every fork, and keep it long after it
 * was revoked.
 */

/** Directories, by their path below HOME: the default of `capsule.home_exclude`. */
export const DEFAULT_EXCLUDE: readonly string[] = [
  ".cache",
  ".npm",
  ".yarn",
  ".pnpm-store",
  ".bun",
  ".deno",
  ".cargo",
  ".rustup",
  ".gradle",
  ".m2",
  ".nvm",
  ".volta",
  ".pyenv",
  ".rbenv",
  ".asdf",
  ".local/bin",
  ".local/lib",
  ".local/pipx",
  ".local/share/mise",
  ".local/share/pnpm",
  ".local/share/uv",
  ".local/share/virtualenv",
  ".vscode-server",
  ".cursor-server",
  ".claude/local",
  ".claude/downloads",
  ".codex/log",
  ".codex/packages",
  "go/pkg",
  "Library/Caches",
];

/** Files with these names, in any directory. docs/security.md explains each. */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set([
  ".credentials.json",
  "credentials.json",
  "credentials",
  "credentials.db",
  "auth.json",
  "oauth_creds.json",
  "access_tokens.db",
  "application_default_credentials.json",
  ".netrc",
  "_netrc",
  ".git-credentials",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  "token",
  "token.json",
  "tokens.json",
  "hosts.yml",
]);
/** Directories of credentials, below HOME. */
const CREDENTIAL_DIRS: readonly string[] = [".ssh", ".gnupg", ".azure", ".config/gcloud", ".kube", ".docker"];
const CREDENTIAL_ENDINGS = /(\.(pem|key|p12|pfx|token|keystore)|^id_(rsa|dsa|ecdsa|ed25519))$/;

export function isCredential(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return (
    CREDENTIAL_NAMES.has(name) ||
    CREDENTIAL_ENDINGS.test(name) ||
    CREDENTIAL_DIRS.some((dir) => path === dir || path.startsWith(`${dir}/`))
  );
}

/** What is never part of a checkpoint, and is left in place by a restore. */
export function isLeftInHome(exclude: readonly string[]): (path: string) => boolean {
  const dirs = exclude.map((dir) => dir.replace(/^\/+|\/+$/g, "")).filter(Boolean);
  return (path) => isCredential(path) || dirs.some((dir) => path === dir || path.startsWith(`${dir}/`));
}
