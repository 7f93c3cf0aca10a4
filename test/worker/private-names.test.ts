/**
 * A request to a name that leads into a private network or to this machine, through a real worker and the
 * machine's own resolver. The tests run again in a mount namespace with a file of hosts that has such names.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { wasSpent } from "../../src/approval/index.ts";
import { findOutsideProgram } from "../../src/process/index.ts";
import { ActingHome, quiet } from "../support/acting.ts";
import { HeldServer } from "../support/held-server.ts";
import { tempOfNobody, testsAgain } from "../support/nobody.ts";

const HOSTS = `127.0.0.1 localhost here.example.org
10.11.12.13 inside.example.org
93.184.216.34 both.example.org
10.11.12.13 both.example.org
169.254.169.254 link.example.org
`;
const hasNames = readFileSync("/etc/hosts", "utf8") === HOSTS;
const canMount = process.getuid?.() === 0 && findOutsideProgram("unshare") !== undefined;
if (!hasNames && !canMount) console.log("left out: names in private networks: only root can mount hosts");

describe.skipIf(!hasNames)("http_request to a name", () => {
  const PRIVATE = "is in a private network: name it exactly";
  const HERE = "leads to this machine or its local link";
  it.each([
    ["inside.example.org", "", PRIVATE],
    ["both.example.org", "", PRIVATE],
    ["both.example.org", "*.example.org", PRIVATE],
    ["here.example.org", "", HERE],
    ["here.example.org", "here.example.org", HERE],
    ["link.example.org", "link.example.org", HERE],
  ])("lookup-1 %s, with the hosts [%s], is refused and spends nothing: %s", async (name, hosts, why) => {
    await using home = new ActingHome();
    await using server = await HeldServer.start();
    server.letGo();
    const declared = hosts === "" ? "" : `"${hosts}:${server.port}"`;
    await home.begin(`tools: { http_request: { hosts: [${declared}] } }\n`);
    const url = `http://${name}:${server.port}/`;
    const { prepared, action } = await home.prepare("http_request", { method: "POST", url });
    const grant = await home.grant(action);
    expect(await prepared.act(grant, quiet())).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining(why),
      facts: { code: "tool_failed" },
    });
    expect(wasSpent(home.dir, grant.approval)).toBe(false);
    expect(server.heard).toEqual([]);
  });
});

describe.skipIf(hasNames || !canMount)("with a file of hosts of its own, the machine", () => {
  it("passes the tests above", () => {
    using temp = tempOfNobody();
    writeFileSync(temp.join("hosts"), HOSTS);
    const mounted = ["sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', temp.join("hosts")];
    const words = ["unshare", "--mount", "--propagation", "private", ...mounted];
    expect(testsAgain(words, temp, ["test/worker/private-names.test.ts"])).toContain("6 passed");
  });
});
