export type { CheckSettings } from "./checks.ts";
export { CONFIG_FILE, type Config, defaultConfig, parseConfig } from "./config.ts";
export { parseDocument } from "./document.ts";
export { DEFAULT_LANE, type LaneSettings, ownLane } from "./lanes.ts";
export {
  type Api,
  type KeySettings,
  type LoginSettings,
  type ProviderSettings,
  shippedProviders,
} from "./providers.ts";
export { type QuotaSettings, within } from "./quota.ts";
export { defaultSettings, parseSettings, type Settings } from "./settings.ts";
export type { ServerSettings, ToolSettings } from "./tools.ts";
