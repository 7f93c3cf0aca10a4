/**
 * Owns whether arguments match the schema of one of Holdfast's tools or of the repo's file. Loaded with the
 * first call.
 */
import { fromJSONSchema } from "zod";
import { HoldfastError, type JsonObject } from "../contract/index.ts";

/** Fails with `arguments_invalid`. If the schema can't be read, all arguments are refused. */
export function assertArguments(tool: string, input: JsonObject, args: JsonObject): void {
  const refused = (why: string) => new HoldfastError("arguments_invalid", `${tool}: ${why}`, { tool });
  let schema: ReturnType<typeof fromJSONSchema>;
  try {
    schema = fromJSONSchema(input);
  } catch (error) {
    throw refused(
      `its input schema can't be read: ${error instanceof Error ? error.message : "it is invalid"}`,
    );
  }
  const issue = schema.safeParse(args).error?.issues[0];
  if (!issue) return;
  const path = issue.path.map(String).join(".");
  throw refused(`${path === "" ? "" : `${path}: `}${issue.message}`);
}
