/**
 * Owns the OpenAPI document: made from the table of routes, and the forms of their bodies and answers.
 */
import * as z from "zod/mini";
import { sessionAnswer } from "./answers.ts";
import type { ApiRoute, Form, Gives } from "./api-route.ts";

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
    info: { title: "Holdfast", version: "1", description: "The API of `holdfast serve`." },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      responses: { Failed: FAILED },
      schemas: { Session: schemaOf(sessionAnswer, "output", { isNamed: false }) },
    },
    security: [{ token: [] }],
    paths,
  };
}

function operationOf({ method, path, summary, query, form, gives }: ApiRoute): object {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const inQuery = Object.entries(query).map(([name, { description, schema, isRepeated }]) => ({
    ...{ name, in: "query", description },
    schema: isRepeated ? { type: "array", items: schema } : schema,
  }));
  const afterEvent = gives === "events" ? [LAST_EVENT] : [];
  const parameters = [...inPath, ...inQuery, ...afterEvent];
  return {
    operationId: [method.toLowerCase(), ...path.split(/[/:.]+/).slice(2)].join("_"),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(form && { requestBody: bodyOf(form) }),
    responses: {
      200: { description: "Done.", content: contentOf(gives) },
      default: { $ref: "#/components/responses/Failed" },
    },
  };
}

const LAST_EVENT = {
  ...{ name: "Last-Event-ID", in: "header", description: "the id of the last event that was received" },
  schema: { type: "string" },
};

/** A body that may be empty is not required. */
const bodyOf = (form: Form) => ({
  required: !form.safeParse({}).success,
  content: { "application/json": { schema: schemaOf(form, "input") } },
});

function contentOf(gives: Gives): object {
  if (gives === "events") return { "text/event-stream": { schema: { type: "string" } } };
  if (gives === "bytes")
    return { "application/octet-stream": { schema: { type: "string", format: "binary" } } };
  return { "application/json": { schema: schemaOf(gives, "output") } };
}

/** The view of a session stands in many answers, so it has a name. */
function schemaOf(form: Form, io: "input" | "output", { isNamed = true } = {}): object {
  const { $schema: _, ...schema } = z.toJSONSchema(form, {
    ...{ io, unrepresentable: "any" },
    override: ({ zodSchema, jsonSchema }) => {
      if (!isNamed || zodSchema !== sessionAnswer) return;
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
      jsonSchema.$ref = "#/components/schemas/Session";
    },
  });
  return schema;
}
