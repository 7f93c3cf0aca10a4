import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { Requests } from "../../dispatch/index.ts";
import { tellMade } from "../deciding.ts";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";

export function command(): Command {
  return verb("answer", "Answer a question that a session's agent asked.", [
    'holdfast answer q_01k "the second one"',
  ])
    .argument("<question>", "the question's id, or the first characters of it; holdfast approvals lists them")
    .argument("<text...>", "the text of the answer")
    .action(async (prefix: string, words: string[], options: CommonOptions) => {
      const text = words.join(" ").trim();
      if (text === "")
        throw new HoldfastError("usage", "the answer is empty: give its text after the question's id");
      const dispatcher = await openDispatcher(options);
      const requests = new Requests(dispatcher);
      const asked = await requests.find("question", prefix, scope(options));
      const { id, session, user, label } = asked;
      const made = await requests.answer(session, id, text, { user });
      if (options.json) return sayJson({ question: id, session, process: made.process });
      say(`answered ${id} of ${label}`);
      tellMade(asked, made);
    });
}
