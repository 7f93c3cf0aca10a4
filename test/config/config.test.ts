/**
 * holdfast.yaml as a malicious or careless author writes it.
 */
import { describe, expect, it } from "vitest";
import { parseConfig, parseSettings, within } from "../../src/config/index.ts";

/** Each line repeats the one before ten times. */
const bomb = [
  "bomb:",
  "  - &l0 [x, x, x, x, x, x, x, x, x, x]",
  ...Array.from({ length: 9 }, (_, at) => `  - &l${at + 1} [${Array(10).fill(`*l${at}`).join(", ")}]`),
].join("\n");

describe("holdfast.yaml", () => {
  it.each([
    ["aliases that expand to far too much", bomb, 4],
    ["an alias without an anchor", "capsule:\n  ports: []\n  setup: *nothing\n", 3],
    ["an alias that contains itself", "capsule:\n  include: &all\n    - *all\n", 3],
    ["deeply nested keys", `capsule: {}\n${"? ".repeat(300)}x\n`, 2],
    ["more brackets than a parser can take", `capsule:\n  ports: ${"[".repeat(20_000)}`, 2],
  ])("is refused with the line in the error: %s", async (_, text, line) => {
    await expect(parseConfig(text)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(`holdfast.yaml:${line}: `),
      facts: { line },
    });
  });

  it("may have an alias, which stands for the value of its anchor", async () => {
    const text = "capsule:\n  setup: &first make\n  include: [*first, b]\n";
    expect((await parseConfig(text)).capsule).toMatchObject({ setup: "make", include: ["make", "b"] });
  });

  it("gives a lane what it states, and otherwise what repo-fix has", async () => {
    const text = `lane: deps
setup_hosts: [Registry.NPMJS.org, registry.npmjs.org]
lanes:
  deps: { hosts: ["*.example.org", "localhost:5432"] }
  look: { write: [], read: [read_file] }
  plain:
`;
    expect(await parseConfig(text)).toMatchObject({
      lane: "deps",
      setup_hosts: ["registry.npmjs.org"],
      lanes: {
        deps: {
          read: ["*"],
          write: ["*"],
          external: [],
          approval: ["external"],
          hosts: ["*.example.org", "localhost:5432"],
        },
        look: { read: ["read_file"], write: [], hosts: [] },
        plain: { write: ["*"], hosts: [] },
      },
    });
    expect(await parseConfig("lanes:\n")).toMatchObject({ lane: "repo-fix", lanes: {}, setup_hosts: [] });
    expect(Object.keys((await parseConfig("lanes: { __proto__: { hosts: [a.org] } }")).lanes)).toEqual([]);
  });

  it.each([
    [
      "a shipped lane redefined",
      "lanes:\n  a: {}\n  online:\n    hosts: []\n",
      4,
      "lanes.online: is the name of a lane that comes with holdfast",
    ],
    [
      "a lane with an invalid name",
      "lanes:\n  a: {}\n  No_Lane: {}\n",
      3,
      "lanes.No_Lane: is not a name for a lane",
    ],
    ["an unknown key of a lane", "lanes:\n  a:\n    hots: [b]\n", 3, "lanes.a.hots: no such key"],
    [
      "a tool with the name of a built-in one",
      "tools:\n  ship: { run: [a] }\n  read_file: { run: [a] }\n",
      3,
      "tools.read_file: is the name of a built-in tool: use another",
    ],
    [
      "a tool without a program that is not a shipped one",
      "tools:\n  git_push: {}\n  git_psuh: { env: [A] }\n",
      3,
      "tools.git_psuh: has no run, and is none of git_push, gh_pr_create, http_request",
    ],
    ["an unknown class of tools", "lanes:\n  a:\n    approval: [all]\n", 3, "lanes.a.approval.0: "],
    [
      "an IP address as a host",
      "lanes:\n  a:\n    hosts:\n      - b.org\n      - 10.0.0.1\n",
      5,
      "lanes.a.hosts.1: must be a name, not an IP address",
    ],
    ["an IP address for set-up", "setup_hosts:\n  - 0x7f.1\n", 2, "setup_hosts.0: must be a name"],
    [
      "a default lane that does not exist",
      "quota: {}\nlane: depths\nlanes: { deps: {} }\n",
      2,
      "lane: is not a lane of this file",
    ],
    [
      "a default lane named like an object's property",
      "lane: constructor\n",
      1,
      "lane: is not a lane of this file",
    ],
    [
      "too many hosts",
      `setup_hosts: [${Array.from({ length: 300 }, (_, at) => `h${at}.org`)}]\n`,
      1,
      "setup_hosts: has too many hosts",
    ],
    [
      "an include outside the repo",
      "capsule:\n  include:\n    - a\n    - ../b\n",
      4,
      "capsule.include.1: is not a path inside the repo",
    ],
  ])("is refused with the line and the key in the error: %s", async (_, text, line, reason) => {
    await expect(parseConfig(text)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(`holdfast.yaml:${line}: ${reason}`),
      facts: { line },
    });
  });
});

describe("settings.yaml", () => {
  it("says which of the user's files tasks see and how much memory they may use", async () => {
    const { sandbox, quota } = await parseSettings(
      "sandbox: { read: [~/.cargo, /srv/tools, ~/] }\nquota: { memory_mb: 100 }\n",
    );
    expect(sandbox.read).toEqual(["~/.cargo", "/srv/tools", "~/"]);
    expect(quota.memory_mb).toBe(100);
    for (const path of ["relative", "../up", "~other/x", ""])
      await expect(parseSettings(`sandbox:\n  read:\n    - "${path}"\n`), path).rejects.toMatchObject({
        code: "config_invalid",
        message: expect.stringContaining("settings.yaml:3: sandbox.read.0: must begin with / or ~/"),
      });
  });

  it("limits memory: a repo may ask for less, but not for more", async () => {
    const quota = async (memory?: number) =>
      (await parseSettings(memory === undefined ? "" : `quota: { memory_mb: ${memory} }\n`)).quota;
    const both = async (asked?: number, allowed?: number) =>
      within(await quota(asked), await quota(allowed)).memory_mb;
    expect([
      await both(),
      await both(5),
      await both(undefined, 5),
      await both(9, 5),
      await both(4, 5),
    ]).toEqual([undefined, 5, 5, 5, 4]);
  });
});
