/**
 * Owns how Gemini CLI is started.
 */
import type { HomeFile, ToolClasses } from "../adapter.ts";
import { WITHOUT_DOUBLES } from "./gemini-record.ts";
import { jsonFile, type Starting } from "./start.ts";

/**
 * Gemini CLI names the file of a conversation by the minute and the conversation's id. Before it loads one,
 * it begins a new record with such a name. In the minute in which the conversation was begun, that is the
 * same file, and its content is lost (google-gemini/gemini-cli#28693). So earlier files are renamed; Gemini
 * CLI finds them under the new name too.
 */
const KEEP_CONVERSATIONS = `
for file in "$HOME"/.gemini/tmp/*/chats/session-*.jsonl; do
  [ -e "$file" ] || continue
  case $file in *.kept.jsonl) kept=$file ;; *) kept=\${file%.jsonl}.kept.jsonl; mv -n "$file" "$kept" ;; esac
  node -e "$WITHOUT_DOUBLES" "$kept"
done
unset WITHOUT_DOUBLES
exec "$0" "$@"`;

/** Tools that need an answer from a person. */
const NEVER = ["ask_user", "enter_plan_mode", "exit_plan_mode"];
const COMMANDS = ["run_shell_command"];
const WRITING = [...COMMANDS, "replace", "write_file"];
const REACHING = ["google_web_search", "web_fetch"];

export const gemini: Starting = ({ url, key }, model, tools) => ({
  wrapper: ["sh", "-c", KEEP_CONVERSATIONS],
  // When a turn is cancelled, it resets its record to before the prompt and drops the calls that were done
  // since.
  forgetsCancelled: true,
  env: {
    WITHOUT_DOUBLES,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    GEMINI_MODEL: model,
    // Otherwise it starts itself again to get a larger heap.
    GEMINI_CLI_NO_RELAUNCH: "true",
  },
  files: [
    jsonFile(".gemini/settings.json", {
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      general: {
        enableAutoUpdate: false,
        enableAutoUpdateNotification: false,
        // A session may be at rest for longer than Gemini CLI keeps conversations by default.
        sessionRetention: { enabled: false },
      },
      privacy: { usageStatisticsEnabled: false },
    }),
    denying([...NEVER, ...lackingIn(tools)]),
  ],
});

const lackingIn = ({ isReadOnly, isWithoutCommands, hasHosts }: ToolClasses) => [
  ...(isReadOnly ? WRITING : isWithoutCommands ? COMMANDS : []),
  ...(hasHosts ? [] : REACHING),
];

/** A policy file of Gemini CLI. It asks as before for everything that the policy does not name. */
const denying = (tools: readonly string[]): HomeFile => ({
  path: ".gemini/policies/holdfast.toml",
  content: `[[rule]]\ntoolName = ${JSON.stringify(tools)}\ndecision = "deny"\npriority = 999\n`,
});
