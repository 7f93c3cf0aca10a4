/**
 * Owns the package's `holdfast/testing`: a model on loopback that answers as a script tells it, for tests of
 * agents and of programs that drive them.
 */
import { ScriptedModel, type ScriptedModelOptions } from "./model.ts";

export type { Usage as ScriptedUsage } from "./api/api.ts";
export type { ModelRequest, ScriptedModel, ScriptedModelOptions } from "./model.ts";
export { type Orphan, orphansIn } from "./orphans.ts";
export type { Intent, Script, Scripts, Step } from "./script.ts";

/** Starts a model on loopback that answers as its scripts tell it. */
export function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  return ScriptedModel.start(options);
}
