/**
 * A trace is sent to a real collector, with ids from the journal and with headers that nothing else sees. A
 * collector that hangs, misbehaves or is not there changes nothing.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { collectorOf } from "../../src/contract/index.ts";
import { post } from "../../src/host/trace-post.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { Collector } from "../support/collector.ts";
import { HostHome } from "../support/hosts.ts";
import { filesWith, newValue, processesWith } from "../support/values.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const sessionIn = (text: string) => /sess_\w+/.exec(text)?.[0] ?? "";

const run = (home: HostHome, env: NodeJS.ProcessEnv, ...args: string[]) =>
  runCli(home.dir, ["run", "--repo", home.main, ...wall, ...args], env);
const traceIn = (home: HostHome, id: string, task = 1) =>
  readFileSync(home.sessionDir(id, "tasks", String(task), "artifacts", "trace.json"), "utf8");
const logOf = (home: HostHome, id: string) =>
  readFileSync(home.sessionDir(id, "log", "telemetry.log"), "utf8");

describe("a trace", () => {
  it("trace-1 arrives at the collector as it is stored, with ids from the journal, and its headers leak nowhere", async () => {
    const value = newValue().replace(" ", "-");
    const check = 'checks: [{ name: has-new, run: "grep -q new b.txt" }]\n';
    using home = new HostHome({ "a.txt": `${value}\n`, "holdfast.yaml": check });
    // The user's own repo has the value, and so do its base and its objects.
    const inFiles = () => filesWith(home.dir, value).filter((path) => !path.includes("/repos/"));
    let seen: string[] = [];
    await using collector = await Collector.open((response) => {
      seen = [...processesWith(value), ...inFiles().filter((path) => !path.includes("/env/"))];
      response.end("{}");
    });
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${value}`,
      GIVEN: "something",
    };
    const script =
      "echo new > b.txt; cat a.txt; env | grep -c OTEL; cat /proc/*/environ 2>/dev/null | grep -c marmalade; true";
    const done = await run(home, env, "--env", "GIVEN", "--", "sh", "-c", script);
    const id = sessionIn(done.stderr);
    const taken = "[redacted:env:OTEL_EXPORTER_OTLP_HEADERS]\n";
    expect(done.stdout.startsWith(taken)).toBe(true);
    if (hasSandbox) expect(done.stdout).toBe(`${taken}0\n0\n`);
    const got = await collector.first();
    await home.quiet();
    expect(got).toMatchObject({
      path: "/otlp/v1/traces",
      headers: { authorization: `Bearer ${value}`, "content-type": "application/json" },
    });
    expect(got.body).toBe(traceIn(home, id));
    expect(seen).toEqual([]);
    expect(inFiles()).toEqual([]);

    const { holdfast } = await home.dispatcher();
    const records = await Array.fromAsync(holdfast.readJournal(id));
    const hashes = new Map(records.map(({ hash, type }) => [hash.slice(0, 16), type]));
    const { spans } = JSON.parse(got.body).resourceSpans[0].scopeSpans[0];
    const named = spans.map(({ name, spanId }: { name: string; spanId: string }) => [
      name,
      hashes.get(spanId),
    ]);
    expect(named).toEqual([
      ["session", undefined],
      ["task 1", "task_started"],
      ["stage route", "stage_ended"],
      ["stage capsule", "stage_ended"],
      ["stage act", "stage_started"],
      ["invoke_agent", "turn_started"],
      ["execute_tool run_command", "tool_called"],
      ...named.slice(7, -3),
      ["stage verify", "stage_started"],
      ["check has-new", "check_started"],
      ["stage persist", "stage_started"],
    ]);
    const begun = (type: string, stage?: string) =>
      records.find((one) => one.type === type && one.data["stage"] === stage)?.hash.slice(0, 16);
    expect(spans.at(-2)).toMatchObject({
      traceId: spans[0].traceId,
      spanId: begun("check_started"),
      parentSpanId: begun("stage_started", "verify"),
    });
    const digest = createHash("sha256").update(`${id} 1`).digest("hex");
    expect(spans[0]).toMatchObject({ traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) });
    const shown = await home.cli("show", id);
    expect(shown.stdout).toMatch(/^artifacts .*result.json, summary.md, trace.json in \/.*artifacts$/m);
  });

  it("is kept if its collector hangs, and neither its task nor the next one waits for it", async () => {
    using home = new HostHome();
    const hanging = await Collector.open(() => {});
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: hanging.url };
    const first = await run(home, env, "--", "sh", "-c", "echo one > b.txt");
    const id = sessionIn(first.stderr);
    await hanging.first();
    const second = await runCli(home.dir, [
      "run",
      "--session",
      id,
      ...wall,
      "--",
      "sh",
      "-c",
      "echo two > b.txt",
    ]);
    expect([first.status, second.status]).toEqual([0, 0]);
    expect(JSON.parse(traceIn(home, id))).toHaveProperty("resourceSpans");
    await hanging[Symbol.asyncDispose]();
    await home.quiet();
    expect(logOf(home, id)).toMatch(
      /the trace of task 1 was not sent: 127\.0\.0\.1:\d+: (ECONNRESET|no answer within 10000 ms)\n$/,
    );
    expect(hanging.got).toHaveLength(1);
  });

  it("is kept if there is no collector at the address, and the log says that it was not sent", async () => {
    using home = new HostHome();
    const gone = await Collector.open();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const { status, stderr } = await run(home, { OTEL_EXPORTER_OTLP_ENDPOINT: url }, "--", "true");
    expect(status).toBe(0);
    const id = sessionIn(stderr);
    await home.quiet();
    expect(logOf(home, id)).toMatch(/the trace of task 1 was not sent: 127\.0\.0\.1:\d+: ECONNREFUSED\n/);
    expect(JSON.parse(traceIn(home, id))).toHaveProperty("resourceSpans");
  });
});

describe("a collector", () => {
  const sent = async (url: string, more: NodeJS.Dict<string> = {}) => {
    const collector = collectorOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
      ...more,
    });
    return collector && post(collector, Buffer.from("{}"));
  };

  it("that redirects to another address is not followed", async () => {
    await using other = await Collector.open();
    await using collector = await Collector.open((response) => {
      response.writeHead(307, { location: `${other.url}/v1/traces` }).end();
    });
    expect(await sent(collector.url)).toBe("it answered 307");
    expect(other.got).toEqual([]);
  });

  it("that never answers, or never ends its answer, does not hold up the sender", async () => {
    await using silent = await Collector.open(() => {});
    expect(await sent(silent.url)).toBe("no answer within 500 ms");
    await using endless = await Collector.open((response) => {
      const more = () => response.write("x".repeat(65_536)) && setImmediate(more);
      response.on("drain", more);
      more();
    });
    expect(await sent(endless.url)).toBeUndefined();
  });

  it("that refuses is reported with its status; a header that can't be sent is reported without its content", async () => {
    await using refusing = await Collector.open((response) => response.writeHead(401).end("who are you?"));
    expect(await sent(refusing.url)).toBe("it answered 401");
    const broken = await sent(refusing.url, { OTEL_EXPORTER_OTLP_HEADERS: "a=b%0D%0Ac: d" });
    expect(broken).toBe("ERR_INVALID_CHAR");
    expect(refusing.got).toHaveLength(1);
  });
});
