/**
 * A command with a secret in it: its record does not have the secret, so the command runs from its envelope
 * or not at all.
 */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HostHome, script, typesOf, until } from "../support/hosts.ts";

const TOKEN = `ghp_${"a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}`;
/** So many that the session process takes the task in while it still removes them. */
const OLD_FILES = 600;

describe("a command with a secret in it", () => {
  it("redaction-1 is not refused while the process that takes it in still removes old files", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"));
    await until(async () => (await dispatcher.show(id)).status === "paused");
    const dir = home.sessionDir(id, "env");
    mkdirSync(dir, { recursive: true });
    for (let index = 0; index < OLD_FILES; index += 1) {
      const path = join(dir, `task_${String(index).padStart(26, "0")}.json`);
      writeFileSync(path, JSON.stringify({ values: {} }));
      utimesSync(path, 0, 0);
    }
    await dispatcher.submit(id, script(`echo ${TOKEN} > /dev/null`));
    const types = await until(
      () => typesOf(dispatcher, id),
      (all) => all.includes("task_refused") || all.filter((type) => type === "task_ended").length === 2,
    );
    expect(types).not.toContain("task_refused");
  });
});
