export { CONFIG_FILE, type Config, defaultConfig, parseConfig } from "./config.ts";
