/**
 * Real web servers on loopback for tests of the network: pages, pages over TLS, and git.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { TempDir } from "./home.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class TestSite implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static plain(answer: Answer): Promise<TestSite> {
    return TestSite.#listen(createServer(answer));
  }

  /** With a self-signed certificate. */
  static tls(temp: TempDir, answer: Answer): Promise<TestSite> {
    const [key, cert] = [temp.join("key.pem"), temp.join("cert.pem")];
    const subject = ["-subj", "/CN=example.org", "-addext", "subjectAltName=DNS:example.org"];
    const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    execFileSync("openssl", [...words, "-keyout", key, "-out", cert, "-days", "1", ...subject], {
      stdio: "ignore",
    });
    return TestSite.#listen(createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer));
  }

  /** Repos below a directory, by git's own program for that. */
  static git(dir: string): Promise<TestSite> {
    return TestSite.plain((request, response) => void serveGit(dir, request, response));
  }

  static async #listen(server: Server): Promise<TestSite> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TestSite(server);
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function serveGit(dir: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: dir,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: searchParams.toString(),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  for await (const chunk of backend.stdout) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks);
  const end = answer.indexOf("\r\n\r\n");
  for (const line of answer.toString("latin1", 0, end).split("\r\n")) {
    const [name = "", value = ""] = line.split(": ");
    if (name === "Status") response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.end(answer.subarray(end + 4));
}
