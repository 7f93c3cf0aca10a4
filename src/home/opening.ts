/**
 * Owns the opening of a session, and the choice of its name.
 */
import {
  type AgentDefinition,
  type Budget,
  nameFromText,
  parseSessionId,
  parseUser,
  type SessionId,
} from "../contract/index.ts";
import { withoutSecrets } from "../redaction/index.ts";
import type { Session } from "../session/index.ts";
import { assertKnown, present } from "../util/index.ts";
import { defaultUser, type Home } from "./home.ts";
import { type Claimant, claimName } from "./names.ts";
import { assertPrivate } from "./private.ts";
import { readSettings } from "./settings.ts";
import { stageSession } from "./staging.ts";

export interface NewSession {
  readonly user?: string;
  /** Exactly this name; if it is taken, the opening is refused. */
  readonly name?: string;
  /** The text that a name is derived from when none is given. Default: the title. */
  readonly nameFrom?: string;
  readonly agent?: string;
  /** The agent definition that the session is opened from. */
  readonly definition?: AgentDefinition;
  readonly repo?: string;
  readonly title?: string;
  readonly budget?: Budget;
  /** Words of your own, to list it by. */
  readonly tags?: readonly string[];
  /** Names and short texts of your own, which are shown with it. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export const NEW_SESSION = [
  "user",
  "name",
  "nameFrom",
  "agent",
  "definition",
  "repo",
  "title",
  "budget",
  "tags",
  "metadata",
] satisfies (keyof NewSession)[];

export async function openSession(
  home: Home,
  options: NewSession = {},
  id: SessionId = parseSessionId(home.newId("sess")),
): Promise<Session> {
  assertKnown("openSession", options, NEW_SESSION);
  const user = parseUser(options.user ?? defaultUser());
  const { definition, repo, title, tags, metadata } = options;
  const agent = options.agent ?? definition?.name;
  const limits = { ...(await readSettings(home.dir)).budget, ...definition?.budget, ...options.budget };
  const budget = Object.keys(limits).length > 0 ? limits : undefined;
  // If others can access the home by now, it gets no new session.
  await assertPrivate(home.dir);
  return named(home, { id, repo: repo ?? null }, options, (name) =>
    stageSession(home, id, async (_staged, own) => {
      const labels = { ...present({ tags: tags && [...tags], metadata: metadata && { ...metadata } }) };
      const origin = {
        session: id,
        user,
        ...present({ name, agent, definition, repo, title, budget }),
        ...labels,
      };
      await (await own()).record("session_opened", origin);
    }),
  );
}

/** Without a text to derive a name from, the session is named by its id. */
export async function named<T>(
  home: Home,
  claimant: Claimant,
  { name, nameFrom, title }: Pick<NewSession, "name" | "nameFrom" | "title">,
  make: (name?: string) => Promise<T>,
): Promise<T> {
  const text = nameFrom ?? title ?? "";
  // The name becomes part of a branch and a path, which are never redacted later.
  const like = nameFromText(text === "" ? "" : await withoutSecrets(home.io.redact, text));
  if (name === undefined && like === undefined) return make();
  const wish = name === undefined ? { like: like ?? "" } : { exactly: name };
  const claim = await claimName(home, claimant, wish);
  const made = await make(claim.name).catch(async (error: unknown) => {
    await claim.release();
    throw error;
  });
  await claim.settle();
  return made;
}
