/**
 * Owns the address of a remote of the user's repo, as an action reaches it: from the user's own configuration
 * only, with its port, and without a credential.
 */
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { pushUrlsOf, type Repo } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import { portOf } from "./reach.ts";

/**
 * `http:` or `https:` with its port, or `file:`. Fails with `tool_failed`; the text is for agents and people.
 */
export async function remoteUrl(repo: Repo, remote: string): Promise<string> {
  if (repo.isStandIn) throw refused("the session has no repo, so there is no remote to push to");
  const urls = await pushUrlsOf(repo, remote);
  const [written] = urls;
  if (written === undefined) throw refused(`the repo has no remote named ${remote}`);
  if (urls.length > 1)
    throw refused(`the remote ${remote} has several addresses; a push needs a remote with exactly one`);
  return resolved(repo, remote, written);
}

function resolved(repo: Repo, remote: string, written: string): string {
  if (/^(https?|file):\/\//i.test(written)) return ofUrl(remote, written);
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(written) || /^[^/]*:/.test(written))
    throw refused(
      `the remote ${remote} is ${shown(written)}: only https, http and paths of this machine can be pushed to; ssh is not available, because there is no agent and no key here`,
    );
  return ofPath(remote, isAbsolute(written) ? written : resolve(repo.checkout ?? repo.gitDir, written));
}

function ofUrl(remote: string, written: string): string {
  const url = URL.parse(written);
  if (!url) throw refused(`the address of the remote ${remote} can't be read`);
  if (url.protocol === "file:") {
    if (url.hostname !== "")
      throw refused(`the address of the remote ${remote} is a file on another machine`);
    return ofPath(remote, decodeURIComponent(url.pathname));
  }
  if (url.username !== "" || url.password !== "")
    throw refused(
      `the remote ${remote} has a name or a password in its address: remove it there, and set GIT_USERNAME and GIT_TOKEN instead`,
    );
  // The port is added, because URL leaves out the default one.
  const { protocol, hostname, pathname, search } = url;
  return `${protocol}//${hostname}:${portOf(url)}${pathname}${search}`;
}

function ofPath(remote: string, path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw refused(`the remote ${remote} is ${shown(path)}, which is not a directory with a repo`);
  return pathToFileURL(path).href;
}

/** Removes what may be a credential in an address that could not be parsed. */
const shown = (text: string) => text.replace(/\/\/[^/]*@/, "//…@").slice(0, 200);

const refused = (why: string) => new HoldfastError("tool_failed", why);

const BRANCH = /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)))[^\p{Cc}\s~^:?*[\\]{1,200}(?<![/.])$/u;

/** Fails with `arguments_invalid`. */
export function assertBranch(tool: string, branch: string): void {
  if (!BRANCH.test(branch) || branch === "@")
    throw new HoldfastError(
      "arguments_invalid",
      `${tool}: ${JSON.stringify(branch.slice(0, 60))} can't be a branch`,
    );
}
