import { describe, expect, it } from "vitest";
import { HostHome, reaches, script, typesOf } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

describe("the quota of a session", () => {
  it("counts threads as processes, as the system does", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { processes: 40 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const many =
      'const { Worker } = require("worker_threads"); for (let i = 0; i < 60; i += 1) new Worker("setInterval(() => {}, 1000)", { eval: true })';
    const { id } = await dispatcher.begin({ repo: home.main }, script(`node -e '${many}'`));
    await reaches(dispatcher, id, "paused");
    const limits: unknown[] = [];
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "quota_reached") limits.push(data["limit"]);
    expect(limits).toEqual(["processes"]);
  });

  it("counts deleted files that are still open", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { disk_mb: 64 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(
        "exec 3>$TMPDIR/big; rm $TMPDIR/big; for i in $(seq 60); do head -c 8000000 /dev/zero >&3; sleep 0.1; done; sleep 60",
      ),
    );
    await reaches(dispatcher, id, "paused");
    expect(await typesOf(dispatcher, id)).toContain("quota_reached");
  });
});
