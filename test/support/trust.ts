/**
 * A person who accepts what holdfast.yaml of a repo asks for, as it is committed now.
 */
import { openHome } from "../../src/home/index.ts";
import { decideOnFile, readRepoFile } from "../../src/task/index.ts";
import type { TaskHome } from "./tasks.ts";

export async function acceptFile({ dir, main }: Pick<TaskHome, "dir" | "main">): Promise<void> {
  const home = await openHome({ home: dir });
  await decideOnFile(home, await readRepoFile(home, { repo: main }), "accept");
}
