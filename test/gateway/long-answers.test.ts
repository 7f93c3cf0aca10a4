/**
 * What an agent gets of long texts: everything can be read, in parts that the gate does not cut.
 */
import { describe, expect, it } from "vitest";
import { builtinToolNames, shippedToolNames } from "../../src/contract/index.ts";
import { builtinTools } from "../../src/gateway/index.ts";
import { GateHome } from "../support/gates.ts";

const lines = Array.from({ length: 3000 }, (_, at) => `line ${at} ${"é".repeat(at % 40)}\n`);
const CUT = "characters were left out";

describe("a long answer", () => {
  it("read_blob reads all of an output that was cut, part after part", async () => {
    using home = new GateHome({ "long.txt": lines.join("") });
    await home.begin();
    const { text: cut } = await home.gate.call("run_command", { command: "cat long.txt" });
    const [, handle] = /read_blob with handle ([0-9a-f]{64})/.exec(cut) ?? [];
    let whole = "";
    for (let offset = 0, total = 1; offset < total; ) {
      const { text, facts } = await home.gate.call("read_blob", {
        handle: handle ?? "",
        offset,
        length: 99_999,
      });
      expect(text).not.toContain(CUT);
      whole += text;
      offset = Number(facts?.["next_offset"]);
      total = Number(facts?.["total_bytes"]);
    }
    expect(whole).toBe(lines.join(""));
    await home.end();
  });

  it("read_file returns whole lines, and tells where to continue", async () => {
    using home = new GateHome({ "long.txt": lines.join("") });
    await home.begin();
    let whole = "";
    for (let offset = 0; offset < lines.length; ) {
      const { text, facts } = await home.gate.call("read_file", { path: "long.txt", offset_lines: offset });
      expect(text).not.toContain(CUT);
      const last = Number(facts?.["last_line"]);
      const [note = ""] = /\[lines .*\]\n$/.exec(text) ?? [];
      if (last < lines.length) expect(note).toContain(`continue with offset_lines ${last}]`);
      whole += text.slice(0, text.length - note.length);
      offset = last;
    }
    expect(whole).toBe(lines.join(""));
    await home.end();
  });
});

it("the names of the built-in tools are those that holdfast.yaml can't give to others", () => {
  expect(builtinTools({} as never).map(({ name }) => name)).toEqual(builtinToolNames);
  expect(builtinToolNames).not.toEqual(expect.arrayContaining([...shippedToolNames]));
});
