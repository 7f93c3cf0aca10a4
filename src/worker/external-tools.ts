/**
 * Owns which tools act outside of a session: those that come with Holdfast, and those that a repo's file
 * declares and a person has accepted. An entry without words configures a tool of Holdfast: its hosts and its
 * variables.
 */
import type { ToolSettings } from "../config/index.ts";
import { type ShippedTool, shippedToolNames } from "../contract/index.ts";
import type { ActingTool } from "../lane/index.ts";
import { readConfig } from "../task/index.ts";
import { declarationOf, declaredTool } from "./declared.ts";
import { ghPrCreate } from "./gh-pr-create.ts";
import { gitPush } from "./git-push.ts";
import { httpRequest } from "./http-request.ts";
import type { ActingPlace } from "./place.ts";

const shipped = { git_push: gitPush, gh_pr_create: ghPrCreate, http_request: httpRequest } satisfies Record<
  ShippedTool,
  unknown
>;

const usual: Pick<ToolSettings, "env" | "hosts" | "timeout_minutes"> = {
  env: [],
  hosts: [],
  timeout_minutes: 10,
};

/** By the file of the commit that the task began with. */
export async function externalTools(place: ActingPlace): Promise<ActingTool[]> {
  const { tools } = await readConfig(place.task.room, place.task.base);
  const own = Object.entries(tools).filter(([, { run }]) => run !== undefined);
  const isOwn = (name: string) => own.some(([other]) => other === name);
  const known = shippedToolNames.filter((name) => !isOwn(name));
  return [
    ...known.map((name) => shipped[name](place, declarationOf(name, tools[name] ?? usual))),
    ...own.map(([name, settings]) => declaredTool(place, name, settings)),
  ];
}
