/**
 * An agent that tries to reach files of the user or of another session. It is started as a user starts it: by
 * the built command, as root and as an ordinary user, beside a session at work. The control is the same
 * command without a sandbox.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiTokenPath } from "../../src/server/api-token.ts";
import { Place } from "../support/attacked-home.ts";
import {
  type Attempt,
  batchOf,
  callers,
  heardOf,
  leaveOut,
  perl,
  WON,
  whyNoAttacks,
} from "../support/attacks.ts";
import { until } from "../support/hosts.ts";

const speak = (path: string) =>
  perl(
    `use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ENV{${path}})) or die "errno " . ($! + 0); print <S>`,
  );
const knock = (token: string) =>
  perl(`use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ENV{HOLDFAST_DOOR})) or die "$!";
    syswrite(S, "GET /v1/inbox HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer ${token}\\r\\nConnection: close\\r\\n\\r\\n"); print <S>`);
const look = (title: string, script: string): Attempt => ({ title, script, without: ["view"] });
/** git's id of a file with the line `PLANTED-KEPT`, of a failed task: its work is kept, but on no branch. */
const KEPT = createHash("sha1").update("blob 13\0PLANTED-KEPT\n").digest("hex");
const READ_ONLY = /Read-only|No such file|Directory nonexistent|Permission denied|cannot/;

/** `$H` is the Holdfast home, `$A` the other session, `$U` the user's home, `$M` the main checkout. */
const attempts: readonly Attempt[] = [
  look("another session's journal", 'grep -rh PLANTED "$H/sessions/$A/journal"'),
  look("another session's token", 'cat "$H/sessions/$A/token" && echo WON'),
  look("another session's output", 'grep -rhs PLANTED-OUT "$H/sessions/$A"'),
  look("another session's files", 'cat "$H/sessions/$A"/tasks/1/capsule/*/unpublished'),
  look("another session's HOME", 'cat "$H/sessions/$A/home/conversation"'),
  look("another session's temporary files", 'cat "$H/sessions/$A/tasks/1/tmp/scratch"'),
  look("another session's inbox", 'ls -d "$H/sessions/$A"/inbox* && echo WON'),
  look("anything of another session", 'ls "$H/sessions/$A" && echo WON'),
  look("the list of sessions", 'ls "$H/sessions" | grep -c . | grep -v "^[01]$" && echo WON'),
  look("the home's own files", 'cat "$H/home.json" && echo WON'),
  look("the user's settings", 'cat "$H/settings.yaml"'),
  look("the API's token", 'cat "$H"/users/*/api-token'),
  look("the operator's key", 'cat "$H"/operator/key.pem'),
  look("the shared bases", 'ls "$H"/repos/*/bases/*/tree && echo WON'),
  look(
    "the store of snapshots",
    'ls -d "$H"/repos/*/store* "$H"/repos/*/snapshots* "$H"/repos/*/layers* | grep . && echo WON',
  ),
  look(
    "a file of another session's checkpoint, by its id in git",
    `for at in .git "$H"/repos/*/store.git; do git --git-dir="$at" cat-file -p ${KEPT}; done`,
  ),
  look(
    "the directory of the sockets",
    'cat "$H/runtime" && ls "$(cat "$H/runtime" | tr -d "\\n")" && echo WON',
  ),
  look("another session's door", "ls -d /tmp/holdfast-*/*/door && echo WON"),
  look("another Holdfast home", 'cat "$OTHER/sessions/sess_1/token"'),
  look("the main gitdir's settings", 'cat "$M/.git/config" | grep PLANTED'),
  look("a secret in the user's repo that is in no commit", 'cat "$M/.env"'),
  look("an SSH key", 'cat "$U/.ssh/id_ed25519"'),
  look("a cloud's credentials", 'cat "$U/.aws/credentials"'),
  look("a registry's token", 'cat "$U/.npmrc"'),
  look("a key of gpg", 'cat "$U/.gnupg/private-keys-v1.d/key"'),
  look("the user's git credentials", 'cat "$U/.git-credentials"'),
  look("the user's home", 'ls -a "$U" | grep -v "^[.]*$" | grep ssh && echo WON'),
  look("an agent's socket in the user's home", speak("SOCKET")),
  look("a socket in /var", speak("VAR_SOCKET")),
  look(
    "another session's process",
    'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -o "sleep 987[6]" && echo WON',
  ),
  look(
    "the session process",
    'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -o "dist/host/[m]ain" && echo WON',
  ),
  {
    ...look(
      "the environment of the process that started it",
      'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep ^USERS_SECRET',
    ),
    // Even without a sandbox, an ordinary user's task is in a user namespace.
    controlAs: "root",
  },
  { title: "secrets in its own environment", script: "env | grep -E 'USERS_SECRET|LC_SECRET'" },
  {
    title: "descriptors that the starting process left open",
    script: "for f in 3 4 5 6 7 8 9 10 11 12; do cat <&$f; done",
  },
  {
    title: "writing the main gitdir's hooks",
    script: 'echo x > "$M/.git/hooks/post-checkout"; echo tried',
    says: /tried/,
  },
  {
    title: "writing the user's objects",
    script: 'echo x > "$(cat .git/objects/info/alternates)/made" && echo WON',
    says: READ_ONLY,
  },
  {
    title: "removing the user's objects",
    script: 'rm -rf "$(cat .git/objects/info/alternates)"/*',
    says: READ_ONLY,
  },
  {
    title: "overwriting its own token",
    script: 'echo x > "$HOLDFAST_TOKEN_FILE" && echo WON',
    says: READ_ONLY,
  },
  { title: "removing its own door", script: 'rm -f "$HOLDFAST_DOOR" && echo WON', says: READ_ONLY },
  {
    title: "its own journal",
    script: 'ls "$H/sessions/$HOLDFAST_SESSION/journal" && echo WON',
    says: /No such file/,
  },
  { title: "its door without a token", script: knock(""), wins: /HTTP\/1.1 2/, says: /401/ },
  {
    title: "its door with a wrong token",
    script: knock("hf_0000000000000000"),
    wins: /HTTP\/1.1 2/,
    says: /401/,
  },
  {
    title: "a message for another session's inbox",
    script: 'mkdir -p "$H/sessions/$A/inbox/new" && echo x > "$H/sessions/$A/inbox/new/x" && echo WON',
    says: READ_ONLY,
  },
  { title: "a task for another session", script: 'mkdir -p "$H/sessions/made" && echo WON', says: READ_ONLY },
];

const VAR_SOCKET = `/var/tmp/holdfast-test-${process.pid}.sock`;

function scriptOf(place: Place, other: string, tried = attempts): string {
  const { home, user, main } = place;
  const set = {
    H: home,
    U: user,
    M: main,
    A: other,
    OTHER: place.join("other"),
    SOCKET: join(user, "agent.sock"),
    VAR_SOCKET,
  };
  const exports = Object.entries(set).map(([name, value]) => `export ${name}='${value}';`);
  return `${exports.join(" ")} ${batchOf(tried)}`;
}

if (whyNoAttacks) leaveOut("agents beside others", whyNoAttacks);
for (const caller of callers) {
  if (caller.why) leaveOut(`agents beside others, as ${caller.name}`, caller.why);
  describe.skipIf(whyNoAttacks ?? caller.why)(`an agent of ${caller.name} beside another session`, () => {
    let place: Place;
    let inside = new Map<string, string>();
    let outside = new Map<string, string>();
    let heard = "";
    let mainAfter = "";
    const controls = attempts.filter(
      ({ without, controlAs }) => without && (controlAs ?? caller.name) === caller.name,
    );
    const agent = createServer((socket) => socket.end("PLANTED"));
    const service = createServer((socket) => socket.end("PLANTED"));

    beforeAll(async () => {
      place = new Place(caller);
      const { user, main, home } = place;
      const secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".npmrc",
        ".gnupg/private-keys-v1.d/key",
        ".git-credentials",
      ];
      const owned = caller.words.length > 0;
      const plant = (path: string) => {
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, "PLANTED\n");
      };
      for (const path of secrets) plant(join(user, path));
      for (const path of ["home.json", "sessions/sess_1/token"]) plant(place.join("other", path));
      plant(place.join("open"));
      mkdirSync(main);
      agent.listen({ path: join(user, "agent.sock"), readableAll: true, writableAll: true });
      await once(agent, "listening");
      service.listen({ path: VAR_SOCKET, readableAll: true, writableAll: true });
      await once(service, "listening");
      if (owned)
        for (const dir of [user, main, place.join("other"), place.join("open")]) await place.giveAll(dir);
      const git = [
        "init -q",
        "config user.name A",
        "config user.email a@example.org",
        "config remote.x.url https://PLANTED@x",
      ];
      for (const words of git) await place.run(["git", ...words.split(" ")]);
      await place.run([
        "sh",
        "-c",
        "echo one > a.txt; git add a.txt; git commit -qm one; echo PLANTED > .env",
      ]);
      const work =
        'echo PLANTED | tee unpublished "$HOME/conversation" > "$TMPDIR/scratch"; echo PLANTED-OUT; exec sleep 9876';
      await place.holdfast(["run", "--detach", "--name", "other", "--", "sh", "-c", work]);
      await place.holdfast(["run", "--", "sh", "-c", "echo PLANTED-KEPT > kept; exit 1"]);
      // Where `serve` keeps its token.
      const token = apiTokenPath({ dir: home }, "planted");
      for (const path of [join(home, "settings.yaml"), join(home, "operator", "key.pem"), token])
        await place.run(["sh", "-c", 'umask 077; mkdir -p "$(dirname "$0")"; echo "# PLANTED" > "$0"', path]);
      const [other = ""] = readdirSync(join(home, "sessions"));
      while (!existsSync(join(home, "sessions", other, "home", "conversation"))) await sleep(50);
      heard = await place.holdfast(["run", "--", "sh", "-c", scriptOf(place, other)], true);
      inside = heardOf(attempts, heard);
      mainAfter = stateOf(place.main);
      const control = ["run", "--no-sandbox", "--", "sh", "-c", scriptOf(place, other, controls)];
      outside = heardOf(controls, await place.holdfast(control, true));
    });
    afterAll(async () => {
      agent.close();
      service.close();
      using _ = place;
      const isAtWork = () => place.processes().length > 0;
      expect(isAtWork()).toBe(true);
      await place.holdfast(["interrupt", "other"]);
      await until(isAtWork, (isStill) => !isStill);
    });

    it.each(attempts)("blocked: $title", ({ title, wins = WON, says }) => {
      expect(inside.get(title), heard.slice(-2000)).toBeDefined();
      expect(inside.get(title)).not.toMatch(wins);
      if (says) expect(inside.get(title)).toMatch(says);
    });

    it.each(controls)("control: without a sandbox, the agent gets $title", ({ title, wins = WON }) => {
      expect(outside.get(title)).toMatch(wins);
    });

    it("control: the process that starts the agent has the secret variables and an open descriptor", async () => {
      expect(await place.run(["env"])).toMatch(/^USERS_SECRET=PLANTED\n(.*\n)*LC_SECRET=PLANTED$/m);
      expect(await place.run(["sh", "-c", "cat <&7"], true)).toBe("PLANTED\n");
    });

    it("leaves the main checkout unchanged", () => {
      expect(mainAfter).toBe(".env .git a.txt, no hook, objects: true, made: false");
    });
  });
}

function stateOf(main: string): string {
  const objects = readdirSync(join(main, ".git", "objects"));
  const hook = existsSync(join(main, ".git", "hooks", "post-checkout")) ? "a hook" : "no hook";
  const names = readdirSync(main).sort().join(" ");
  return `${names}, ${hook}, objects: ${objects.length > 2}, made: ${objects.includes("made")}`;
}
