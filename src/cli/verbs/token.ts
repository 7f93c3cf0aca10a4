import { Argument, type Command } from "commander";
import { say, sayJson } from "../screen.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

export function command(): Command {
  return verb(
    "token",
    "Replace or revoke a session's token. The old token stops working at once. The token is never shown: the agent reads it from the file that HOLDFAST_TOKEN_FILE names.",
    ["holdfast token rotate fix-login", "holdfast token revoke fix-login"],
  )
    .addArgument(new Argument("<action>", "what to do with the token").choices(["rotate", "revoke"]))
    .argument("<session>", SESSION_HELP)
    .action(async (action: "rotate" | "revoke", prefix: string, options: CommonOptions) => {
      const dispatcher = await openDispatcher(options);
      const { id, label } = await sessionOf(dispatcher.holdfast, prefix, options);
      if (action === "rotate") await dispatcher.rotateToken(id, scope(options));
      else await dispatcher.revokeToken(id, scope(options));
      if (options.json) sayJson({ session: id, action });
      else say(`${label}: the token was ${action === "rotate" ? "replaced" : "revoked"}`);
    });
}
