/**
 * Owns the error for a name that stands for no commit. It names branches that look like it, and where the
 * commit may be fetched from. Nothing is fetched here.
 */
import { HoldfastError } from "../../contract/index.ts";
import { type GitPlace, gitLine } from "../git/git.ts";

const MAX_ALIKE = 3;

export async function missingCommit(place: GitPlace, name: string, where: string): Promise<HoldfastError> {
  const lines = async (...args: string[]) => (await gitLine(place, args)).split("\n").filter(Boolean);
  const refs = await lines("for-each-ref", "--format=%(refname:lstrip=2)", "refs/remotes", "refs/heads");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const alike = refs.filter((ref) => ref === last || ref.endsWith(`/${last}`)).slice(0, MAX_ALIKE);
  const remote = (await lines("remote")).find((one) => name.startsWith(`${one}/`));
  const hints = [
    ...(alike.length > 0 ? [`similar names are ${alike.join(", ")}`] : []),
    ...(remote === undefined ? [] : [`git fetch ${remote} may bring it`]),
  ];
  const message = [`there is no commit ${name} in ${where}`, ...hints].join("; ");
  return new HoldfastError("base_missing", message, { base: name, alike });
}
