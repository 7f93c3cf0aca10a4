import type { Command } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { printable } from "../../util/index.ts";
import { paint, plural, say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";

export function command(): Command {
  return verb(
    "audit",
    "Check every record, blob, the manifest, the witness and the cached fold. Exits with 6 when something is damaged.",
    ["holdfast audit 01k"],
  )
    .argument("<session>", "its id, or the beginning of it")
    .action(async (prefix: string, options: CommonOptions) => {
      const home = await openHome(options);
      const id = await home.resolveId(prefix, scope(options));
      const { records, blobs, tornBytes, ignoredBytes, findings, good } = await home.auditSession(
        id,
        scope(options),
      );
      if (findings.length > 0) process.exitCode = exitStatus.damaged;
      const goodRecords = good.state.seq;
      if (options.json)
        return sayJson({
          session: id,
          records,
          goodRecords,
          blobs,
          tornBytes,
          ignoredBytes,
          head: good.position,
          findings,
        });
      for (const { file, offset, seq, reason } of findings) {
        say(
          `${paint("red", "damaged")}  ${printable(file)} at byte ${offset}, seq ${seq}: ${printable(reason)}`,
        );
      }
      if (tornBytes > 0)
        say(
          `${paint("yellow", "torn")}  ${tornBytes} bytes at the end that nobody was told of; resume sets them aside`,
        );
      if (ignoredBytes > 0)
        say(
          `${paint("yellow", "ignored")}  ${plural(ignoredBytes, "byte")} behind the ends of segments, which no record names`,
        );
      const verdict =
        findings.length === 0
          ? paint("green", "whole")
          : `${goodRecords} records are good; holdfast doctor --repair ${id} keeps them`;
      say(`${id}: ${plural(records, "record")}, ${plural(blobs, "blob")}: ${verdict}`);
    });
}
