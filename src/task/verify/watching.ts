/**
 * Owns what has to be known about a change before its checks are believed: which checks apply to it, which of
 * its files can change what a check proves, and which files no check covers. Pure.
 */
import { type CheckSettings, CONFIG_FILE } from "../../config/index.ts";
import { isCovered, namedIn } from "../../util/index.ts";

export interface WatchedFile {
  readonly path: string;
  /** The kind of file. Changing it may change what a check proves. */
  readonly why: "check" | "test" | "script" | "config";
}

type Why = WatchedFile["why"];

/** The first match counts. These are names that common tools use; a repo adds its own under `protect`. */
const KINDS: readonly (readonly [why: Why, pattern: RegExp])[] = [
  ["check", new RegExp(`^${CONFIG_FILE.replace(".", "\\.")}$`)],
  ["test", /(^|\/)(tests?|__tests__|__snapshots__|specs?|e2e|testdata|fixtures)\//],
  ["test", /(^|\/)(conftest\.py|test_[^/]*\.py|[^/]*[._-](test|spec)\.[^/]+|[^/]*_test\.(go|py|rb|exs?))$/],
  ["test", /(^|\/)([^/]*Tests?\/|[^/]*Tests?\.(java|kt|scala|groovy|cs|fs|vb|swift|php)$)/],
  ["script", /(^|\/)(CMakeLists\.txt|(Docker|Container)file(\.[^/]*)?|deno\.jsonc?|turbo\.json)$/],
  ["script", /(^|\/)(package\.json|Makefile|GNUmakefile|justfile|Rakefile|Taskfile\.ya?ml|noxfile\.py)$/],
  ["script", /(^|\/)(scripts?|bin|tools)\//],
  // What set-up installs. A file of the tree in its place would run instead.
  ["script", /(^|\/)(node_modules|\.venv|venv|site-packages|\.tox)(\/|$)/],
  ["config", /(^|\/)\.(github|gitlab|circleci|buildkite|forgejo|gitea|woodpecker|husky)\//],
  ["config", /(^|\/)(\.(gitlab-ci|travis|drone|woodpecker)|azure-pipelines|bitbucket-pipelines)\.yml$/],
  ["config", /(^|\/)(Jenkinsfile[^/]*|tox\.ini|setup\.cfg|pytest\.ini|phpunit\.xml(\.dist)?)$/],
  ["config", /(^|\/)(pyproject\.toml|Cargo\.toml|go\.mod|build\.gradle(\.kts)?|pom\.xml|biome\.jsonc?)$/],
  [
    "config",
    /(^|\/)(tsconfig[^/]*\.json|[^/]*\.conf(ig)?\.[a-z]+|\.[^/]*rc(\.[a-z]+)?|\.npmrc|\.mocharc[^/]*)$/,
  ],
];

/** `checks`: those whose commands may name a changed file as their program, whatever its name is. */
export function watchedIn(
  paths: readonly string[],
  checks: readonly Pick<CheckSettings, "run">[] = [],
): WatchedFile[] {
  const named = new Set(checks.flatMap(({ run }) => namedIn(run)));
  return paths.flatMap((path) => {
    const why =
      KINDS.find(([, pattern]) => pattern.test(path))?.[0] ?? (named.has(path) ? "script" : undefined);
    return why ? [{ path, why }] : [];
  });
}

export interface DueChecks {
  readonly due: readonly CheckSettings[];
  /** Checks for whose paths nothing changed. */
  readonly skipped: readonly CheckSettings[];
}

export function dueChecks(checks: readonly CheckSettings[], changed: readonly string[]): DueChecks {
  const isDue = ({ paths }: CheckSettings) =>
    paths === undefined || changed.some((path) => isCovered(path, paths));
  return { due: checks.filter(isDue), skipped: checks.filter((check) => !isDue(check)) };
}

export function uncoveredBy(checks: readonly CheckSettings[], changed: readonly string[]): string[] {
  if (checks.some(({ paths }) => paths === undefined)) return [];
  return changed.filter((path) => !checks.some(({ paths }) => isCovered(path, paths ?? [])));
}
