/**
 * Artifacts are stored beside a session's journal, and are exported with it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { sha256Hex } from "../../src/util/index.ts";
import { readExport } from "../conformance/independent-reader.ts";
import { runCli } from "../support/cli.ts";
import { contentOf, forge } from "../support/exports.ts";
import { TestHome } from "../support/home.ts";

describe("artifacts in an export", () => {
  async function withArtifacts(home: TestHome, hf: LocalHome): Promise<string> {
    const session = await hf.openSession({ title: "left something" });
    mkdirSync(home.sessionDir(session.id, "tasks/1/artifacts"), { recursive: true });
    for (const [name, text] of [
      ["report.md", "an early one"],
      ["report.md", "the last one"],
      ["a name — ü", "named"],
    ] as const) {
      writeFileSync(home.sessionDir(session.id, "tasks/1/artifacts", name), text);
      const bytes = Buffer.byteLength(text);
      await session.append("artifact_written", { task: 1, name, sha256: sha256Hex(text), bytes });
    }
    await session.pause();
    return session.id;
  }

  it("import-1 artifacts survive export and import; the export reports missing and changed ones", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await withArtifacts(home, hf);
    expect((await hf.exportSession(id, home.join("out"))).missing).toEqual([]);
    expect(readExport(home.join("out")).session).toBe(id);
    using other = new TestHome();
    const there = await other.open();
    await there.importSession(home.join("out"), { user: "bo" });
    const read = (name: string) => readFileSync(other.sessionDir(id, "tasks/1/artifacts", name), "utf8");
    expect([read("report.md"), read("a name — ü")]).toEqual(["the last one", "named"]);
    // A fork has its parent's records but not its artifacts. Its export must not report them as missing.
    const fork = await hf.forkSession(id);
    await fork.pause();
    expect((await hf.exportSession(fork.id, home.join("fork"))).missing).toEqual([]);

    const dir = home.sessionDir(id, "tasks/1/artifacts");
    writeFileSync(join(dir, "report.md"), "the LAST one");
    rmSync(join(dir, "a name — ü"));
    const odd = await hf.resumeSession(id);
    const sha256 = sha256Hex("");
    await odd.append("artifact_written", { task: 1, name: "../../../token", sha256, bytes: 0 });
    await odd.pause();
    const { status, stderr } = await runCli(home.dir, ["export", id, "-o", home.join("less")]);
    expect([status, stderr.split("\n")]).toEqual([
      0,
      [
        "not in the export: ../../../token: an export can't contain a file of that name",
        "not in the export: tasks/1/artifacts/report.md: it does not have the bytes that the journal names",
        "not in the export: tasks/1/artifacts/a name — ü: it is missing",
        "",
      ],
    ]);
    expect([...contentOf(home.join("less")).files.keys()].some((path) => path.startsWith("tasks"))).toBe(
      false,
    );
    using third = new TestHome();
    expect(await (await third.open()).importSession(home.join("less"))).toBe(id);
  });

  it("import-1 import-2 an import refuses artifacts that do not match the journal, and unsafe names", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await withArtifacts(home, hf);
    await hf.exportSession(id, home.join("out"));
    const content = contentOf(home.join("out"));
    using other = new TestHome();
    const there = await other.open();
    const report = "tasks/1/artifacts/report.md";
    const wrong: [string, string, string][] = [
      [report, "another one!", "export_invalid"],
      [report, "an early one", "export_invalid"],
      ["tasks/2/artifacts/report.md", "the last one", "export_invalid"],
      ["tasks/1/artifacts/other", "x", "export_invalid"],
      ...[
        "tasks/1/artifacts/..",
        "tasks/1/artifacts/...",
        "tasks/1/artifacts/../../../x",
        "tasks/1/artifacts/a/b",
        "tasks/1/artifacts/a\\b",
        "tasks/1/artifacts/a\nb",
        "tasks/1/artifacts/a\u0000",
        "tasks/1/artifacts/.tmp-1",
        `tasks/1/artifacts/${"é".repeat(101)}`,
        "tasks/1/artifacts/",
        "tasks/01/artifacts/x",
        "tasks/0/artifacts/x",
        "tasks/1/capsule/x",
      ].map((path): [string, string, string] => [path, "x", "export_refused"]),
    ];
    for (const [path, text, code] of wrong) {
      const files = new Map(content.files).set(path, Buffer.from(text));
      const tried = forge(other.join("tried"), { ...content, files });
      await expect(there.importSession(tried), JSON.stringify(path)).rejects.toMatchObject({ code });
    }
    expect(await there.listSessions()).toEqual([]);
    expect(readdirSync(other.path).sort()).toEqual(["home", "tried"]);
  });
});
