/**
 * Real tools in the real sandbox, offline and in the default lane, as root and as an ordinary user: people
 * switch off a sandbox that breaks their tools. Tools that this machine lacks are reported.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { kinds, Person } from "../support/person.ts";
import { identity, light, project, type Tool, toolPath, wayTo } from "./toolbox.ts";

if (!hasSandbox) console.log("left out: the tests of real tools: bubblewrap is not installed");
for (const { name, needs } of light)
  for (const program of needs.filter((one) => !wayTo(one)))
    console.log(`left out: the test of ${name} in the sandbox: ${program} is not installed`);

const isHere = ({ needs }: Tool) => needs.every((program) => wayTo(program) !== undefined);

for (const kind of kinds) {
  if (kind.why) console.log(`left out: real tools of ${kind.name}: ${kind.why}`);
  describe.skipIf(!hasSandbox || kind.why !== undefined)(`real tools in the sandbox of ${kind.name}`, () => {
    const said = new Map<string, string>();

    beforeAll(async () => {
      using person = new Person(kind, project, toolPath);
      for (const { make } of light) make?.(person);
      person.settleIn();
      // One task runs all tools: each prints its part after its name.
      const parts = [identity, ...light]
        .filter(isHere)
        .map(({ name, script }) => `echo "== ${name}"; (${script}\n) </dev/null`);
      for (const part of (await person.run(`${parts.join("\n")}\n:`)).split(/^== /m).slice(1)) {
        const [name = "", ...lines] = part.trimEnd().split("\n");
        said.set(name, lines.join("\n"));
      }
    });

    it("user-1 the task is not root, and owns the directories that it may write", () =>
      expect(said.get(identity.name)).toMatch(identity.says));

    for (const tool of light)
      it.skipIf(!isHere(tool))(tool.name, () => expect(said.get(tool.name)).toMatch(tool.says));
  });
}
