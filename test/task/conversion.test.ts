/**
 * Files that git stores in another form: a task publishes exactly what git itself would commit.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { commitFiles, gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

describe("files that git converts", () => {
  it("a file that git can't convert is published unchanged, together with all other files", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "echo '*.q working-tree-encoding=NONSENSE' > .gitattributes; printf abc > x.q; echo y > y",
    );
    // It waits for a person, because attributes decide which programs git runs.
    expect(await task.end("done")).toMatchObject({ outcome: "needs_review", branch: null });
    await session.pause();
    const { branch } = await hf.branchSession(session.id, { isReviewed: true });
    expect(gitIn(home.main, "show", `${branch}:x.q`)).toBe("abc");
    expect(gitIn(home.main, "show", `${branch}:y`)).toBe("y");
  });

  it("binary files keep their bytes under text=auto, and text files get their line endings converted", async () => {
    using home = new TaskHome({ ".gitattributes": "* text=auto eol=lf\n*.png binary\n", "crlf.txt": "x\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "printf '\\211PNG\\r\\n\\032\\n' > i.png; printf '\\211PNG\\r\\n\\032\\n\\1\\2\\3' > no-extension; printf 'a\\r\\n' > t",
    );
    const { branch } = await task.end("done");
    await session.pause();
    const bytes = (path: string) =>
      execFileSync("git", ["cat-file", "blob", `${branch}:${path}`], { cwd: home.main, encoding: "latin1" });
    expect([bytes("i.png"), bytes("no-extension"), bytes("t")]).toEqual([
      "\u0089PNG\r\n\u001a\n",
      "\u0089PNG\r\n\u001a\n\u0001\u0002\u0003",
      "a\n",
    ]);
  });

  it("encodings, $Id$ and line endings are published as git itself would commit them", async () => {
    using home = new TaskHome({
      ".gitattributes": "*.u16 working-tree-encoding=UTF-16\n*.id ident\n*.bat eol=crlf\n",
      "a.id": "$Id$\n",
      "w.bat": "x\n",
      "u.u16": "",
    });
    const hf = await home.open();
    for (const strategy of ["auto", "worktree"]) {
      commitFiles(home.main, { "holdfast.yaml": `capsule: { strategy: ${strategy} }\n` }, strategy);
      const { session, task } = await home.start(hf);
      await task.end("done");
      const changed = await hf.startTask(session, sandbox);
      const script =
        "printf '\\376\\377\\000h\\000i' > u.u16; echo more >> a.id; touch w.bat; printf 'y\\r\\n' >> w.bat; git add -A; git write-tree";
      let said = "";
      await changed.runTurn(["sh", "-c", script], {
        onOutput: (chunk) => {
          said += chunk;
        },
      });
      const end = await changed.end("done");
      await session.pause();
      expect(end.stat.paths, strategy).toEqual(["a.id", "u.u16", "w.bat"]);
      expect(end.tree, "what git itself makes of it").toBe(said.trim());
    }
  });
});
