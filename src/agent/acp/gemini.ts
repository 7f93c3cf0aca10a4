/**
 * Owns how Gemini CLI is started.
 */
import type { HomeFile, ToolClasses } from "../adapter.ts";
import { jsonFile, type Starting } from "./start.ts";

/**
 * It names the file of a conversation by the minute and the conversation's id. When it loads one, it first begins a
 * record of that name; in the minute in which the conversation was begun that is the same file, and what stood in it is
 * lost (google-gemini/gemini-cli#28693). So earlier files get another name, under which it finds them too.
 */
const KEEP_CONVERSATIONS = `
for file in "$HOME"/.gemini/tmp/*/chats/session-*.jsonl; do
  case $file in *.kept.jsonl) continue ;; esac
  [ ! -e "$file" ] || mv -n "$file" "\${file%.jsonl}.kept.jsonl"
done
exec "$0" "$@"`;

/** What a person would have to answer. */
const NEVER = ["ask_user", "enter_plan_mode", "exit_plan_mode"];
const COMMANDS = ["run_shell_command"];
const WRITING = [...COMMANDS, "replace", "write_file"];
const REACHING = ["google_web_search", "web_fetch"];

export const gemini: Starting = ({ url, key }, model, tools) => ({
  wrapper: ["sh", "-c", KEEP_CONVERSATIONS],
  env: {
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: key,
    GEMINI_MODEL: model,
    // It would start itself once more, for the sake of a larger heap.
    GEMINI_CLI_NO_RELAUNCH: "true",
  },
  files: [
    jsonFile(".gemini/settings.json", {
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      general: {
        enableAutoUpdate: false,
        enableAutoUpdateNotification: false,
        // A session may be at rest for longer than it keeps a conversation.
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

/** In the words of its policies; what they don't say is as it was: what has an effect is asked for. */
const denying = (tools: readonly string[]): HomeFile => ({
  path: ".gemini/policies/holdfast.toml",
  content: `[[rule]]\ntoolName = ${JSON.stringify(tools)}\ndecision = "deny"\npriority = 999\n`,
});
