/**
 * Owns how goose is started.
 */
import type { Starting } from "./start.ts";

export const goose: Starting = ({ url, key }, model) => ({
  env: {
    GOOSE_PROVIDER: "openai",
    GOOSE_MODEL: model,
    // Makes goose ask before each tool.
    GOOSE_MODE: "approve",
    GOOSE_DISABLE_KEYRING: "1",
    OPENAI_HOST: url,
    OPENAI_BASE_PATH: "v1/chat/completions",
    OPENAI_API_KEY: key,
  },
  files: [],
});
