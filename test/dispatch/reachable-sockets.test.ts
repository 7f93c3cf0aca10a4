import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, script, shown, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { gitIn } from "../support/repo.ts";

if (!hasSandbox) console.log("left out: what the sandbox hides: bubblewrap is not installed");

describe.skipIf(!hasSandbox)("in the sandbox", () => {
  it("a task finds no socket of the machine or of another session, only its own door", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const other = await dispatcher.begin({ repo: home.main }, script("sleep 60", { input: "terminal" }));
    await until(() => dispatcher.processOf(other.id)?.terminal);
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(
        "find /tmp /run /var/run/ /proc/1/root/run /proc/1/root/tmp /root /home /dev -type s > sockets 2>/dev/null; true",
      ),
    );
    await shown(dispatcher, id, ({ task }) => isDone(task));
    const found = gitIn(home.main, "show", `${home.branchOf(id)}:sockets`)
      .split("\n")
      .filter(Boolean);
    expect([...new Set(found.map((path) => path.replace("/proc/1/root", "")))]).toEqual([
      "/tmp/.holdfast/socket",
    ]);
    await dispatcher.pause(other.id);
  });
});
