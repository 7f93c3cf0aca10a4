/**
 * Prints the test files that failed, one in a line, from Vitest's JSON report. It prints none if a second run of them
 * would prove nothing: where many failed, where an error belongs to no test, or where there is no report.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const MOST = 4;

const files = failedIn(process.argv[2] ?? "");
if (files.length <= MOST) for (const file of files) console.log(file);

function failedIn(path) {
  try {
    const { testResults } = JSON.parse(readFileSync(path, "utf8"));
    return testResults
      .filter(({ status }) => status === "failed")
      .map(({ name }) => relative(process.cwd(), name));
  } catch {
    return [];
  }
}
