import type { Command } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { printable } from "../../util/index.ts";
import { plural } from "../amounts.ts";
import { paint, say, sayJson } from "../screen.ts";
import { type CommonOptions, openHome, scope, verb } from "../verb.ts";
import { SESSION_HELP, sessionOf } from "../which-session.ts";

type Options = CommonOptions & { readonly deep?: boolean };

export function command(): Command {
  return verb(
    "audit",
    "Check everything that a session has on disk: each record, blob and artifact, the manifest, the witness and the cached fold, and that each snapshot is there. Exits with 6 if something is damaged.",
    ["holdfast audit fix-login", "holdfast audit fix-login --deep"],
  )
    .argument("<session>", SESSION_HELP)
    .option("--deep", "also read every byte of its snapshots, and of the packs that contain them")
    .action(async (prefix: string, options: Options) => {
      const home = await openHome(options);
      const { id, label } = await sessionOf(home, prefix, options);
      const deep = options.deep ?? false;
      const audit = await home.auditSession(id, { ...scope(options), deep });
      const { records, blobs, artifacts, snapshots, unseen, tornBytes, ignoredBytes, findings, good } = audit;
      if (findings.length > 0) process.exitCode = exitStatus.damaged;
      const goodRecords = good.state.seq;
      const counts = { records, goodRecords, blobs, artifacts, snapshots, unseen, tornBytes, ignoredBytes };
      if (options.json) return sayJson({ session: id, deep, ...counts, head: good.position, findings });
      for (const { file, offset, seq, reason } of findings) {
        say(
          `${paint("red", "damaged")}  ${printable(file)} at byte ${offset}, seq ${seq}: ${printable(reason)}`,
        );
      }
      if (tornBytes > 0)
        say(
          `${paint("yellow", "torn")}  ${tornBytes} bytes of an unfinished write at the end, never acknowledged; holdfast resume sets them aside`,
        );
      if (ignoredBytes > 0)
        say(
          `${paint("yellow", "ignored")}  ${plural(ignoredBytes, "byte")} after the ends of segments, which belong to no record`,
        );
      if (unseen > 0)
        say(
          `${paint("yellow", "unseen")}  ${plural(unseen, "snapshot")} not checked: the session has no repo here`,
        );
      else if (snapshots > 0 && !deep)
        say(`${paint("yellow", "unread")}  the contents of snapshots; --deep reads them`);
      const verdict =
        findings.length === 0
          ? paint("green", "whole")
          : goodRecords < records || findings.some(({ file }) => isOfRecord(file))
            ? `${goodRecords} records are good; holdfast doctor --repair ${id} keeps them`
            : "every record is good; holdfast fork --at continues from a turn whose files are good, too";
      const counted = [
        plural(records, "record"),
        plural(blobs, "blob"),
        ...(artifacts > 0 ? [plural(artifacts, "artifact")] : []),
        ...(snapshots > 0 ? [plural(snapshots, "snapshot")] : []),
      ];
      say(`${label}: ${counted.join(", ")}: ${verdict}`);
    });
}

/** The kinds of damage that a repair can mend. */
const isOfRecord = (file: string) => !/^(tasks|repos)(\/|$)|^snapshots\.pack$/.test(file);
