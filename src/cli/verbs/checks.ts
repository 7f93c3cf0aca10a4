import type { Command } from "commander";
import { HoldfastError } from "../../contract/index.ts";
import { type CheckReceipt, readReceipts } from "../../task/index.ts";
import { printable } from "../../util/index.ts";
import { elapsed } from "../amounts.ts";
import { ago, note, paint, say, sayJson, stream, table } from "../screen.ts";
import { resolveTarget, TASK_HELP } from "../target.ts";
import { type CommonOptions, openDispatcher, scope, verb } from "../verb.ts";
import { verificationLines } from "../verify-lines.ts";

type Options = CommonOptions & { readonly output?: string };

export function command(): Command {
  return verb(
    "checks",
    "Show the results of the checks that ran on a task's work. Each receipt names the tree that was checked, its age, and whether it still counts: a receipt counts only for the tree that it names.",
    ["holdfast checks fix-login", "holdfast checks fix-login/2", "holdfast checks fix-login --output test"],
  )
    .argument("<session>", TASK_HELP)
    .option("--output <check>", "print only the output of this check")
    .action(async (target: string, options: Options) => {
      const dispatcher = await openDispatcher(options);
      const { holdfast, home } = dispatcher;
      const { id, label, task } = await resolveTarget(dispatcher, target, options);
      if (task === undefined) throw new HoldfastError("no_task", `${label} has had no task yet`);
      const records = holdfast.readJournal(id, scope(options));
      const { receipts, verification, tree } = await readReceipts(records, task);
      if (options.output !== undefined) return showOutput(receipts, options.output, `${label}/${task}`);
      const rows = receipts.map(({ output: _, ...receipt }) => ({
        ...receipt,
        counts: receipt.tree === tree,
      }));
      if (options.json) return sayJson({ session: id, task, tree, verification, receipts: rows });
      if (rows.length === 0) say(`unverified: no check ran for ${printable(label)}/${task}`);
      else show(rows, tree, home.io.clock.nowMs());
      for (const { text } of verification ? verificationLines(verification) : []) note(printable(text));
    });
}

type Row = Omit<CheckReceipt, "output"> & { readonly counts: boolean };

function show(rows: readonly Row[], tree: string | null, nowMs: number): void {
  table([
    ["CHECK", "RESULT", "TREE", "TOOK", "AGE", "COUNTS"].map((head) => paint("dim", head)),
    ...rows.map(({ check, passed, tree: of, durationMs, at, into, counts }) => [
      printable(check),
      passed ? "PASS" : "FAIL",
      of.slice(0, 12),
      elapsed(durationMs),
      ago(at, nowMs),
      counts ? "yes" : into === null ? "no" : `for ${printable(into)}`,
    ]),
  ]);
  for (const { check, reason } of rows)
    if (reason !== null) note(`${printable(check)}: ${printable(reason)}`);
  if (rows.some(({ counts, into }) => !counts && into === null))
    note(`the tree is ${tree?.slice(0, 12) ?? "not known"} by now: receipts of another one no longer count`);
}

/** What it wrote when it ran last. */
function showOutput(receipts: readonly CheckReceipt[], check: string, label: string): void {
  const found = receipts.findLast((one) => one.check === check);
  if (!found)
    throw new HoldfastError("check_not_found", `${label} has no receipt of a check ${check}`, {
      known: [...new Set(receipts.map((one) => one.check))],
    });
  stream(process.stdout, Buffer.from(found.output));
}
