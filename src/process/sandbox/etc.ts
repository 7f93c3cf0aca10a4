/**
 * Owns which files of /etc are hidden from a task: those that its user can read but not every user may, and
 * those whose name marks them as secret, in case they have the wrong mode. Files that the kernel refuses
 * anyway need no cover.
 */
import { accessSync, constants, type Stats } from "node:fs";
import { join } from "node:path";
import type { UserIds } from "./identity.ts";
import { entriesOf, lstatOr } from "./paths.ts";

const ETC = "/etc";

const SECRETS: readonly string[] = [
  "shadow",
  "shadow-",
  "gshadow",
  "gshadow-",
  "security/opasswd",
  "sudoers",
  "sudoers.d",
  "doas.conf",
  "ssh/ssh_host_dsa_key",
  "ssh/ssh_host_ecdsa_key",
  "ssh/ssh_host_ed25519_key",
  "ssh/ssh_host_rsa_key",
  "ssl/private",
  "pki/tls/private",
  "pki/private",
  "letsencrypt/live",
  "letsencrypt/archive",
  "letsencrypt/keys",
  "letsencrypt/accounts",
  "krb5.keytab",
  "wireguard",
  "openvpn",
  "ipsec.secrets",
  "ipsec.d",
  "swanctl",
  "NetworkManager/system-connections",
  "netplan",
  "wpa_supplicant",
  "iwd",
  "ppp/pap-secrets",
  "ppp/chap-secrets",
  "crypttab",
  "luks",
  "zfs/keys",
  "docker",
  "containerd",
  "kubernetes",
  "rancher",
  "cni",
  "nomad.d",
  "consul.d",
  "vault.d",
  "salt",
  "puppet",
  "puppetlabs",
  "chef",
  "gitlab",
  "gitlab-runner",
  "netrc",
  "apt/auth.conf",
  "apt/auth.conf.d",
  "rclone.conf",
  "msmtprc",
  "exim4/passwd.client",
  "postfix/sasl_passwd",
  "mysql/debian.cnf",
  "samba/private",
  "ceph",
  "google-cloud-ops-agent",
  "boto.cfg",
];

/** Each one makes every command slower. If there are more, their directories are covered. */
const MAX_COVERED = 32;

/** Real paths, none inside another. */
export function etcSecrets(user: UserIds): string[] {
  const named = SECRETS.map((name) => join(ETC, name)).filter((path) => isToCover(path, user));
  return withinBound([...named, ...notForEverybody(user)]);
}

/** A limit must not leave out a path. */
export function withinBound(paths: readonly string[], bound = MAX_COVERED): string[] {
  const all = outermost(paths);
  return all.length <= bound ? all : outermost(all.map((path) => path.split("/").slice(0, 3).join("/")));
}

function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)].sort();
  return all.filter((path) => !all.some((dir) => path.startsWith(`${dir}/`)));
}

/** A link has no content of its own, and an empty entry has nothing to hide. */
function isToCover(path: string, user: UserIds): boolean {
  const stats = lstatOr(path);
  if (!stats || stats.isSymbolicLink() || !canRead(path, stats, user)) return false;
  return stats.isDirectory() ? entriesOf(path).length > 0 : stats.size > 0;
}

/** Two levels deep. The second one takes longer, and changes seldom: each process looks there once. */
function notForEverybody(user: UserIds): string[] {
  const { found, dirs } = lookInto(ETC, user);
  const key = `${user.uid}:${user.gid}`;
  const below = belowFor.get(key) ?? dirs.flatMap((dir) => lookInto(dir, user).found);
  belowFor.set(key, below);
  return [...found, ...below];
}

/** By user. */
const belowFor = new Map<string, readonly string[]>();

/** What the user can read and not every user may, and the directories that every user may enter. */
function lookInto(dir: string, user: UserIds): { readonly found: string[]; readonly dirs: string[] } {
  const found: string[] = [];
  const dirs: string[] = [];
  for (const entry of entriesOf(dir)) {
    const path = join(dir, entry.name);
    const stats = entry.isSymbolicLink() ? undefined : lstatOr(path);
    if (stats && !isForEverybody(stats) && canRead(path, stats, user)) found.push(path);
    else if (stats?.isDirectory() && isForEverybody(stats)) dirs.push(path);
  }
  return { found, dirs };
}

const isOurs = ({ uid }: UserIds) => uid === process.getuid?.();
const isForEverybody = ({ mode }: Stats) => (mode & 0o004) !== 0;

function canRead(path: string, stats: Stats, user: UserIds): boolean {
  if (isForEverybody(stats) || stats.uid === user.uid) return true;
  // We can't ask the kernel about another user. That user has no group but its own.
  if (!isOurs(user)) return stats.gid === user.gid && (stats.mode & 0o040) !== 0;
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
