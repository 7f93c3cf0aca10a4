export { CONFIG_FILE, type Config, defaultConfig, parseConfig } from "./config.ts";
export { type QuotaSettings, within } from "./quota.ts";
export { defaultSettings, parseSettings, type Settings } from "./settings.ts";
