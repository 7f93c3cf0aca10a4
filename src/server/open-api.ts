/**
 * Owns the OpenAPI document: made from the table of routes and the forms that check their bodies.
 */
import * as z from "zod/mini";
import type { ApiRoute } from "./api-route.ts";

const FAILED = {
  description: "A failure: a code of docs/errors.md, and what happened.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["error", "message"],
        properties: { error: { type: "string" }, message: { type: "string" }, wayOut: { type: "string" } },
      },
    },
  },
};

export function openApiOf(routes: readonly ApiRoute[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast", version: "1", description: "The API that `holdfast serve` answers." },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      responses: { Failed: FAILED },
    },
    security: [{ token: [] }],
    paths,
  };
}

function operationOf({ method, path, summary, query, form }: ApiRoute): object {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const inQuery = Object.entries(query).map(([name, description]) => ({
    ...{ name, in: "query", description, schema: { type: "string" } },
  }));
  return {
    operationId: [method.toLowerCase(), ...path.split(/[/:.]+/).slice(2)].join("_"),
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(form && { requestBody: { content: { "application/json": { schema: schemaOf(form) } } } }),
    responses: { 200: { description: "Done." }, default: { $ref: "#/components/responses/Failed" } },
  };
}

function schemaOf(form: NonNullable<ApiRoute["form"]>): object {
  const { $schema: _, ...schema } = z.toJSONSchema(form, { io: "input", unrepresentable: "any" });
  return schema;
}
