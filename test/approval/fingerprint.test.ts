/**
 * fingerprint-1 and fingerprint-2: only the unchanged action has its fingerprint.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { actionIn, canonical, declarationHash, fingerprintOf, parseExact } from "../../src/approval/index.ts";
import type { Action, Json, JsonObject } from "../../src/contract/index.ts";
import { anAction, codeOf } from "../support/approvals.ts";

const fingerprint = fingerprintOf(anAction);
const withArgs = (changed: JsonObject): Action => ({ ...anAction, args: { ...anAction.args, ...changed } });
const title = "Mend the parser";

/** Each of these is another action than `anAction`. */
const mutations: [string, Action][] = [
  ["another home", { ...anAction, home: "home_01k0000000e008000000000009" }],
  ["another user", { ...anAction, user: "anj" }],
  ["another session", { ...anAction, session: "sess_01k0000000e008000000000003" }],
  ["another task", { ...anAction, task: 4 }],
  ["another lane", { ...anAction, lane: "fix-and-push" }],
  ["another tool", { ...anAction, tool: "gh_pr_merge" }],
  ["a tool that looks the same", { ...anAction, tool: "gh_pr_creat\u0435" }],
  ["another input schema", { ...anAction, schema: `4${"5".repeat(63)}` }],
  ["another tree", { ...anAction, tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4905" }],
  ["no tree", { ...anAction, tree: null }],
  [
    "another path of the target",
    { ...anAction, target: { ...target(), url: "https://api.example.org:443/pull" } },
  ],
  ["another port", { ...anAction, target: { ...target(), url: "https://api.example.org:8443/pulls" } }],
  [
    "a host that looks the same",
    { ...anAction, target: { ...target(), url: "https://api.ex\u0430mple.org:443/pulls" } },
  ],
  ["another executable", { ...anAction, target: { ...target(), executable: "8".repeat(64) } }],
  ["a target without its executable", { ...anAction, target: { url: "https://api.example.org:443/pulls" } }],
  ["a target as a string", { ...anAction, target: canonical(anAction.target) }],
  ["no target", { ...anAction, target: null }],
  ["another argument", withArgs({ title: "Mend the lexer" })],
  ["one more argument", withArgs({ base: "main" })],
  ["one more argument, which is null", withArgs({ base: null })],
  ["one argument fewer", { ...anAction, args: { title } }],
  ["no arguments", { ...anAction, args: {} }],
  ["another letter case", withArgs({ title: "mend the parser" })],
  ["a trailing space", withArgs({ title: `${title} ` })],
  ["two spaces", withArgs({ title: "Mend  the parser" })],
  ["a no-break space", withArgs({ title: "Mend\u00a0the parser" })],
  ["a trailing line feed", withArgs({ title: `${title}\n` })],
  ["a trailing NUL", withArgs({ title: `${title}\u0000` })],
  ["a zero-width space", withArgs({ title: `Mend\u200b the parser` })],
  ["a mark that reverses the text", withArgs({ title: `${title}\u202e` })],
  ["a look-alike letter", withArgs({ title: "M\u0435nd the parser" })],
  ["é as two characters", withArgs({ labels: ["bug", "e\u0301"] })],
  ["the list in another order", withArgs({ labels: ["é", "bug"] })],
  ["a longer list", withArgs({ labels: ["bug", "é", "é"] })],
  ["a list as a string", withArgs({ labels: '["bug","é"]' })],
  ["false as a string", withArgs({ draft: "false" })],
  ["false as null", withArgs({ draft: null })],
  ["false as 0", withArgs({ draft: 0 })],
  ["true instead of false", withArgs({ draft: true })],
  ["1 as a string", withArgs({ weight: "1" })],
  ["a number slightly above 1", withArgs({ weight: 1.0000000000000002 })],
  ["-1 instead of 1", withArgs({ weight: -1 })],
  ["an empty object instead of a nested null", withArgs({ deep: { a: [{ b: {} }] } })],
  ["a list instead of an object", withArgs({ deep: { a: [[null]] } })],
  ["a nested value one level higher", withArgs({ deep: { a: { b: null } } })],
  ["a key that looks the same", withArgs({ d\u0435ep: {} })],
  ["a key with white space", { ...anAction, args: { ...withoutTitle(), "title ": title } }],
  ["arguments nested in arguments", { ...anAction, args: { args: anAction.args } }],
  ["lane and tool exchanged", { ...anAction, lane: anAction.tool, tool: anAction.lane }],
  ["letters moved from the tool to the lane", { ...anAction, lane: "fix-and-prgh", tool: "_pr_create" }],
];

function target(): JsonObject {
  return anAction.target as JsonObject;
}

function withoutTitle(): JsonObject {
  const { title: _, ...rest } = anAction.args;
  return rest;
}

describe("the fingerprint of an action", () => {
  it.each(mutations)("fingerprint-1 differs for %s", (_, other) => {
    expect(actionIn(other)).toEqual(other);
    expect(fingerprintOf(other)).not.toBe(fingerprint);
  });

  it("differs between any two of these actions", () => {
    expect(new Set(mutations.map(([, other]) => fingerprintOf(other))).size).toBe(mutations.length);
  });

  it.each<[string, Action]>([
    ["keys in another order", { ...anAction, args: reversed(anAction.args) as JsonObject }],
    ["fields in another order", reversed({ ...anAction }) as unknown as Action],
    [
      "1 written as 1.0",
      { ...anAction, args: parseExact(JSON.stringify(anAction.args).replace(":1,", ":1.0,")) as JsonObject },
    ],
    [
      "é written as an escape",
      { ...anAction, args: parseExact(JSON.stringify(anAction.args).replace("é", "\\u00e9")) as JsonObject },
    ],
    [
      "white space around tokens",
      { ...anAction, args: parseExact(JSON.stringify(anAction.args, null, "\t")) as JsonObject },
    ],
  ])("is the same for %s", (_, same) => {
    expect(fingerprintOf(same)).toBe(fingerprint);
  });

  it("fingerprint-1 changes exactly when an argument's canonical form changes", () => {
    const small = fc.jsonValue({ maxDepth: 2 }).filter(hasForm);
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(anAction.args)), small, (key, value) => {
        const other = withArgs({ [key]: value as Json });
        expect(fingerprintOf(other) === fingerprint).toBe(canonical(other) === canonical(anAction));
      }),
    );
  });

  it.each<[string, unknown]>([
    ["an additional field", { ...anAction, note: "and a little more" }],
    ["a missing field", { ...anAction, lane: undefined }],
    ["a task that is not a number", { ...anAction, task: "3" }],
    ["task 0", { ...anAction, task: 0 }],
    ["arguments that are a list", { ...anAction, args: [] }],
    ["a schema that is not a hash", { ...anAction, schema: "none" }],
    ["a tree that is not a hash", { ...anAction, tree: "HEAD" }],
    ["a string", canonical(anAction)],
    ["undefined", undefined],
  ])("fingerprint-2 actionIn refuses %s", (_, value) => {
    expect(actionIn(value)).toBeUndefined();
  });

  it("fingerprint-2 does not cover a field that no person sees", () => {
    expect(fingerprintOf({ ...anAction, note: "more" } as Action)).toBe(fingerprint);
  });

  it("is refused for an action that has no canonical form", () => {
    const args = JSON.parse('{"__proto__":1}') as JsonObject;
    expect(codeOf(() => fingerprintOf({ ...anAction, args }))).toBe("arguments_invalid");
    expect(codeOf(() => fingerprintOf(withArgs({ weight: 2 ** 53 })))).toBe("arguments_invalid");
    expect(codeOf(() => fingerprintOf({ ...anAction, lane: "\ud800" }))).toBe("arguments_invalid");
  });

  it("a declaration's hash differs for another input schema or another command", () => {
    const input: JsonObject = { type: "object" };
    const hashes = [
      declarationHash(input, { run: ["gh"] }),
      declarationHash(input, { run: ["gh", ""] }),
      declarationHash(input, null),
      declarationHash({ type: "object", required: [] }, { run: ["gh"] }),
      declarationHash({ run: ["gh"] }, input),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

function hasForm(value: unknown): boolean {
  return codeOf(() => canonical(value)) === undefined;
}

function reversed(value: JsonObject | Action): Json {
  return Object.fromEntries(
    Object.entries(value as JsonObject)
      .reverse()
      .map(([key, one]) => [
        key,
        Array.isArray(one) || typeof one !== "object" || !one ? one : reversed(one),
      ]),
  );
}
