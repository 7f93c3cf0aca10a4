/**
 * Owns the opening of a session, and how it comes by its name.
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
  /** Exactly this, or it is refused. */
  readonly name?: string;
  /** What its name is made from where none is given. Default: the title. */
  readonly nameFrom?: string;
  readonly agent?: string;
  /** The agent definition that it is opened from. */
  readonly definition?: AgentDefinition;
  readonly repo?: string;
  readonly title?: string;
  readonly budget?: Budget;
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
] satisfies (keyof NewSession)[];

export async function openSession(
  home: Home,
  options: NewSession = {},
  id: SessionId = parseSessionId(home.newId("sess")),
): Promise<Session> {
  assertKnown(options, NEW_SESSION);
  const user = parseUser(options.user ?? defaultUser());
  const { definition, repo, title } = options;
  const agent = options.agent ?? definition?.name;
  const limits = { ...(await readSettings(home.dir)).budget, ...definition?.budget, ...options.budget };
  const budget = Object.keys(limits).length > 0 ? limits : undefined;
  // A home that became readable to others gets no new session.
  await assertPrivate(home.dir);
  return named(home, { id, repo: repo ?? null }, options, (name) =>
    stageSession(home, id, async (_staged, own) => {
      const origin = { session: id, user, ...present({ name, agent, definition, repo, title, budget }) };
      await (await own()).record("session_opened", origin);
    }),
  );
}

/** Where there is nothing to make a name from, it goes by its id. */
export async function named<T>(
  home: Home,
  claimant: Claimant,
  { name, nameFrom, title }: Pick<NewSession, "name" | "nameFrom" | "title">,
  make: (name?: string) => Promise<T>,
): Promise<T> {
  const text = nameFrom ?? title ?? "";
  // It stands in a branch and in a path, where no redaction follows.
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
