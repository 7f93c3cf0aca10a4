/**
 * How much the broker writes to its log, with a clock that the test controls.
 */
import { expect, it } from "vitest";
import { BrokerLog } from "../../src/broker/log.ts";

const HOUR_MS = 60 * 60_000;

it("writes a repeated line once in an hour and only so many others, and begins again after the hour", () => {
  let nowMs = 0;
  let written: string[] = [];
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const log = new BrokerLog(clock, (text) => written.push(text));
  // A request that is held asks again and again.
  for (let look = 0; look < 10_000; look += 1) log.say("key_missing: there is no key");
  log.say("token_revoked: another session");
  expect(written).toEqual([
    "1970-01-01T00:00:00.000Z key_missing: there is no key\n",
    "1970-01-01T00:00:00.000Z token_revoked: another session\n",
  ]);
  for (let line = 0; line < 10_000; line += 1) log.say(`line ${line}`);
  expect(written).toHaveLength(501);
  expect(written.at(-1)).toContain("too many lines");
  nowMs = HOUR_MS;
  written = [];
  log.say("key_missing: there is no key");
  expect(written).toHaveLength(1);
});
