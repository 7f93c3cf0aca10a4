/**
 * A database of this machine, as a task reaches it by `hosts: [localhost:PORT]`: in a lane of a file that a person
 * accepted, and by `run --host`.
 */
import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { asNobody, tempOfNobody, whyNotNobody } from "../support/nobody.ts";
import { kinds, Person } from "../support/person.ts";
import { findPostgres } from "./toolbox.ts";

const postgres = findPostgres();
// PostgreSQL refuses to run as root.
const why = postgres === undefined ? "PostgreSQL is not installed" : whyNotNobody;
if (why) console.log(`left out: a database of this machine, reached from the sandbox: ${why}`);

/** A server on the machine's loopback, of an ordinary user. */
class Database implements Disposable {
  readonly port: number;
  readonly #temp = tempOfNobody();

  constructor(port: number) {
    this.port = port;
    this.#run("initdb", "-N", "-A", "trust", "-U", "ani");
    const settings = `-F -h 127.0.0.1 -k ${this.#temp.join("tmp")} -p ${port}`;
    this.#run("pg_ctl", "-w", "-l", this.#temp.join("tmp", "log"), "-o", settings, "start");
  }

  #run(name: string, ...args: string[]): void {
    const data = ["-D", this.#temp.join("tmp", "data")];
    const [program = "", ...words] = [...asNobody, join(postgres ?? "", name), ...data, ...args];
    execFileSync(program, words, { cwd: "/", stdio: "ignore" });
  }

  [Symbol.dispose](): void {
    try {
      this.#run("pg_ctl", "-m", "immediate", "stop");
    } finally {
      this.#temp[Symbol.dispose]();
    }
  }
}

/** A port where nothing listened a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}

for (const kind of kinds)
  describe.skipIf(!hasSandbox || why !== undefined)(`a database of this machine, for ${kind.name}`, () => {
    it("answers tasks of a lane only after a person accepts the lane, and tasks that name it with --host", async () => {
      using database = new Database(await freePort());
      const host = `localhost:${database.port}`;
      using person = new Person(kind, { "holdfast.yaml": `lanes: { db: { hosts: ["${host}"] } }\n` });
      person.settleIn();
      const query = `PATH=$PATH:${postgres}; psql -h localhost -p ${database.port} -U ani -Atc 'select 6 * 7' postgres 2>&1 || :`;
      const asked = async (...options: string[]) =>
        (await person.holdfast("run", ...options, "--", "sh", "-c", query)).stdout;
      expect(await asked("--lane", "db")).toMatch(/Connection refused/);
      expect((await person.holdfast("trust", "--yes")).status).toBe(0);
      expect(await asked("--lane", "db")).toBe("42\n");
      expect(await asked("--host", host)).toBe("42\n");
    });
  });
