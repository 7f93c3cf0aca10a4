/**
 * Owns which files count as credentials in a directory that a sandbox shows. Some names always do. Others are
 * settings that a tool needs, of which only some contain a credential, so these are read first.
 */
import { closeSync, constants, openSync, readSync } from "node:fs";

/**
 * Below the user's home. They are never shown because PATH or a variable leads there, only if the user names
 * them.
 */
export const PRIVATE_PLACES: readonly string[] = [
  ".ssh",
  ".gnupg",
  ".pki",
  ".cert",
  ".password-store",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".config/op",
  ".config/1Password",
  ".config/Bitwarden",
  ".config/Bitwarden CLI",
  ".config/sops",
  ".config/age",
  ".aws",
  ".azure",
  ".oci",
  ".config/gcloud",
  ".config/doctl",
  ".config/rclone",
  ".kube",
  ".minikube",
  ".docker",
  ".config/containers",
  ".terraform.d",
  ".fly",
  ".config/gh",
  ".config/hub",
  ".config/glab-cli",
  ".config/github-copilot",
  ".config/heroku",
  ".config/configstore",
  ".config/git",
  ".claude",
  ".codex",
  ".gemini",
  ".pi",
  ".cursor",
  ".config/opencode",
  ".local/share/opencode",
  ".mozilla",
  ".thunderbird",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/vivaldi",
  ".config/opera",
  ".config/Slack",
  ".config/discord",
  ".config/Signal",
  ".var/app",
  "snap",
  ".bitcoin",
  ".ethereum",
  ".electrum",
];

const NAMES: ReadonlySet<string> = new Set([
  ".credentials.json",
  "credentials.json",
  "credentials.toml",
  "credentials.tfrc.json",
  "credentials.db",
  "credentials",
  "auth.json",
  "oauth_creds.json",
  "access_tokens.db",
  "application_default_credentials.json",
  "hosts.yml",
  ".netrc",
  "_netrc",
  ".git-credentials",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".mylogin.cnf",
  ".vault-token",
  ".env",
  "token",
  "token.json",
  "tokens.json",
  "settings-security.xml",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
]);
const ENDINGS = /\.(p12|pfx|keystore|kdbx|token|ppk)$|^\.env\..+$/;
/** What a file of that name must contain to count. */
const TELLING: readonly (readonly [name: RegExp, words: RegExp])[] = [
  [/\.(pem|key)$/, /PRIVATE KEY-----/],
  [/^(\.npmrc|npmrc|rc|\.yarnrc)$/, /_auth|_password|authtoken/i],
  [/^\.yarnrc\.yml$/, /npmAuth/],
  [/^bunfig\.toml$/, /token|password/i],
  [
    /^(pip\.conf|pip\.ini|uv\.toml|config|\.condarc|condarc|\.gemrc|\.gitconfig)$/,
    /:\/\/[^/\s]*@|token|password/i,
  ],
  [/^(settings\.xml|nuget\.config)$/i, /password|passphrase|privatekey/i],
  [/^gradle\.properties$/, /password|token|secret|key/i],
  [/^config\.json$/, /"auths?"|credsStore|token/i],
  [/^(\.?mise(\..+)?\.toml|config\.toml)$/, /(key|token|secret|password)["']?\s*=/i],
];
const MAX_READ = 64 * 1024;

/** By its name, and if the name does not decide, by its content. */
export function isCredentialFile(path: string, name: string): boolean {
  if (NAMES.has(name) || ENDINGS.test(name)) return true;
  const telling = TELLING.find(([names]) => names.test(name));
  return telling?.[1].test(beginningOf(path)) ?? false;
}

/** Empty if it can't be read: then the task can't read it either. A pipe does not block us. */
function beginningOf(path: string): string {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return "";
  }
  try {
    const bytes = Buffer.alloc(MAX_READ);
    return bytes.toString("latin1", 0, readSync(fd, bytes, 0, MAX_READ, 0));
  } catch {
    return "";
  } finally {
    closeSync(fd);
  }
}
