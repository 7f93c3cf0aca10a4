/**
 * Owns the verbs that only move a session from one status to another: they differ in one call and one word.
 */
import type { Command } from "commander";
import type { Holdfast } from "../home/index.ts";
import { say, sayJson } from "./screen.ts";
import { type CommonOptions, openHome, scope, verb } from "./verb.ts";

type Move = (home: Holdfast, id: string, scope: { user?: string }) => Promise<unknown>;

export function transition(name: string, summary: string, done: string, move: Move): Command {
  return verb(name, summary, [`holdfast ${name} 01k`])
    .argument("<session>", "its id, or the beginning of it")
    .action(async (prefix: string, options: CommonOptions) => {
      const home = await openHome(options);
      const id = await home.resolveId(prefix, scope(options));
      await move(home, id, scope(options));
      if (options.json) sayJson(await home.showSession(id, scope(options)));
      else say(`${id} ${done}`);
    });
}
