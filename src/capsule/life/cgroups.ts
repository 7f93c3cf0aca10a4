/**
 * Owns which cgroups a session has, where the machine lets us make some: one in which its tasks and their set-up are
 * counted, and one for git, where that reads what they wrote. Both are made by what is started in them, end when the
 * session's capsule is at rest, and are taken over by the next process of the session after a crash.
 */
import { type CgroupShare, findCgroup } from "../../process/index.ts";
import { type HomePlace, homeName, type Repo } from "../repo/repo.ts";

/** Git starts few, whatever it reads. */
const GIT_PROCESSES = 256;

export const cgroupOfTasks = ({ homeName }: Pick<Repo, "homeName">, session: string) =>
  `${homeName}.${session}`;

export function cgroupOfGit(repo: Pick<Repo, "homeName">, session: string): CgroupShare {
  return { name: `${cgroupOfTasks(repo, session)}.git`, limits: { maxProcesses: GIT_PROCESSES } };
}

/** With all that still runs in them. */
export async function endCgroups(repo: Pick<Repo, "homeName">, session: string): Promise<void> {
  for (const name of [cgroupOfTasks(repo, session), cgroupOfGit(repo, session).name])
    await findCgroup(name)?.end();
}

/** The session, where it is a cgroup of this home's. */
export function sessionOfCgroup(home: HomePlace, name: string): string | undefined {
  const own = `${homeName(home)}.`;
  return name.startsWith(own) ? name.slice(own.length).replace(/\.git$/, "") : undefined;
}
