/**
 * A set-up that leaves traps in the base that all sessions share: attributes that an overlay reads as its
 * own, links that lead out, bits that give rights, and devices.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Place } from "../support/attacked-home.ts";
import {
  type Attempt,
  batchOf,
  callers,
  callOf,
  heardOf,
  leaveOut,
  perlCall,
  WON,
  whyNoAttacks,
} from "../support/attacks.ts";

const SETXATTR = process.arch === "arm64" ? 5 : 188;
const attribute = (path: string, name: string, value: string) =>
  perlCall(SETXATTR, path, `user.overlay.${name}`, value, value.length, 0);

/** Every line is tried, even if others fail. */
const setup = [
  "mkdir -p redirected hidden opaque/below; echo PLANTED > hidden/secret; echo kept > opaque/below/file; echo kept > whited",
  attribute("redirected", "redirect", "/hidden"),
  attribute("redirected", "redirect", "/../../../../../../../etc"),
  attribute("opaque", "opaque", "y"),
  attribute("whited", "whiteout", "y"),
  attribute(".", "opaque", "x"),
  "ln -s /etc/shadow link; ln -s / root; ln -s ../../../../../.. up; mkdir -p links; ln -s ../.. links/out",
  "cp /usr/bin/id id; cp id gid; chmod 2755 gid; chmod 4755 id",
  callOf("mknodat", -100, "disk", 0o60666, 0xfe00),
  callOf("mknodat", -100, "a.txt.whiteout", 0o20000, 0),
  "mkfifo pipe; mkdir -p .git/hooks; echo x > .git/hooks/post-checkout",
  'echo "uid $(id -u)" > who; echo x > "$HOME/../escaped"; echo x > ../beside; cat /etc/shadow > shadow; true',
];

const attempts: readonly Attempt[] = [
  {
    title: "a redirect to another directory of the layer",
    script: "cat redirected/secret",
    says: /No such file/,
  },
  {
    title: "a redirect out of the layer",
    script: "ls redirected | grep -x passwd && echo WON; echo tried",
    says: /^tried$/,
  },
  {
    title: "hiding the files below a directory that calls itself opaque",
    script: "cat opaque/below/file",
    says: /^kept$/,
  },
  { title: "a link to a secret", script: "cat link", wins: /root:/ },
  {
    title: "a link to the root",
    script: "cat root/etc/shadow up/etc/shadow links/out/etc/shadow",
    wins: /root:/,
  },
  {
    title: "a set-user-id bit",
    script: "ls id > /dev/null && find . -perm -4000 2>/dev/null | grep . && echo WON; echo tried",
    says: /^tried$/,
  },
  {
    // Directories need the bit, and the kernel's filter can't tell them from files.
    title: "a set-group-id bit of another group",
    script: '[ "$(stat -c %g gid)" = "$(id -g)" ] && [ "$(./gid -g)" = "$(id -g)" ] && echo own',
    says: /^own$/,
  },
  {
    title: "a device",
    script: "find . -type b -o -type c | grep . && echo WON; echo tried",
    says: /^tried$/,
  },
  {
    title: "a git hook that set-up made",
    script: "ls .git/hooks/post-checkout && echo WON",
    says: /No such file/,
  },
  { title: "running set-up as root", script: "cat who", wins: /uid 0$/, says: /^uid \d+$/ },
  { title: "a secret that set-up tried to copy", script: "cat shadow", wins: /root:/ },
  { title: "what set-up was answered", script: "cat said", wins: /root:/ },
  { title: "hiding a file of the commit", script: "cat a.txt", says: /^one$/ },
];

if (whyNoAttacks) leaveOut("traps of a set-up", whyNoAttacks);
for (const caller of callers) {
  if (caller.why) leaveOut(`traps of a set-up, as ${caller.name}`, caller.why);
  describe.skipIf(whyNoAttacks ?? caller.why)(`traps of a set-up, as ${caller.name}`, () => {
    let place: Place;
    let heard = "";
    let inside = new Map<string, string>();

    beforeAll(async () => {
      place = new Place(caller);
      const script = setup.map((line) => `(${line}) >> said 2>&1`).join("\n");
      const config = 'capsule:\n  setup: "sh ./traps.sh"\n';
      await place.makeMain({ "a.txt": "one\n", "traps.sh": `${script}\ntrue\n`, "holdfast.yaml": config });
      heard = await place.holdfast(["run", "--", "sh", "-c", batchOf(attempts)]);
      inside = heardOf(attempts, heard);
    });
    afterAll(() => place[Symbol.dispose]());

    it.each(attempts)("blocked: $title", ({ title, wins = WON, says }) => {
      expect(inside.get(title), heard.slice(-3000)).toBeDefined();
      expect(inside.get(title)).not.toMatch(wins);
      if (says) expect(inside.get(title)).toMatch(says);
    });

    it("control: set-up lays all traps except those that the filter refuses", () => {
      const answers = inside.get("what set-up was answered") ?? "";
      expect(answers).toMatch(/'id': Operation not permitted/);
      const said = [...answers.matchAll(/WON|errno \d+/g)].map(String);
      const laid = said.slice(0, 5).filter((one) => one !== "WON");
      if (laid.length > 0)
        return leaveOut("an overlay's attributes", `this file system has none (${laid[0]})`);
      expect(said).toEqual(["WON", "WON", "WON", "WON", "WON", "errno 1", "errno 1"]);
    });

    it("leave no set-user-id file, no device and nothing outside of the set-up's files", () => {
      const find = (...words: string[]) =>
        spawnSync("find", [place.path, ...words], { encoding: "utf8" }).stdout.trim();
      expect(find("-perm", "-4000")).toBe("");
      expect(find("-type", "b")).toBe("");
      expect(find("(", "-name", "escaped", "-o", "-name", "beside", ")")).toBe("");
      expect(readFileSync(`${place.main}/a.txt`, "utf8")).toBe("one\n");
    });
  });
}
