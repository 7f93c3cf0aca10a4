/**
 * Owns the cgroups of a session, if the machine allows them: one in which its tasks and their set-up are
 * counted, and one for git when it reads what they wrote. Both are made by the first process in them, end
 * when the session's capsule is at rest, and are taken over by the next process of the session after a crash.
 */
import { type CgroupShare, findCgroup } from "../../process/index.ts";
import { type HomePlace, homeName, type Repo } from "../repo/repo.ts";

/** Git starts few processes, whatever it reads. */
const GIT_PROCESSES = 256;

export const cgroupOfTasks = ({ homeName }: Pick<Repo, "homeName">, session: string) =>
  `${homeName}.${session}`;

export function cgroupOfGit(repo: Pick<Repo, "homeName">, session: string): CgroupShare {
  return { name: `${cgroupOfTasks(repo, session)}.git`, limits: { maxProcesses: GIT_PROCESSES } };
}

/** Ends everything that still runs in them, too. */
export async function endCgroups(repo: Pick<Repo, "homeName">, session: string): Promise<void> {
  for (const name of [cgroupOfTasks(repo, session), cgroupOfGit(repo, session).name])
    await findCgroup(name)?.end();
}

/** The session of a cgroup, if it is one of this home's. */
export function sessionOfCgroup(home: HomePlace, name: string): string | undefined {
  const own = `${homeName(home)}.`;
  return name.startsWith(own) ? name.slice(own.length).replace(/\.git$/, "") : undefined;
}
