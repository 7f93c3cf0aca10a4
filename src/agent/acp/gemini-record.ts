/**
 * Owns the repair of a conversation that Gemini CLI stored, before it is loaded. Gemini CLI writes the result
 * of a call twice: with the call, and as the next input of the user. After loading, the call would have two
 * results, which the API of Gemini refuses.
 *
 * The repair is a program for `node -e`, with the path as its argument. It runs in the sandbox, because the
 * file belongs to the agent and may be a link to anywhere.
 */
export const WITHOUT_DOUBLES = `
const fs = require("node:fs");
const path = process.argv.at(-1);
const text = fs.readFileSync(path, "utf8");
const records = text.split("\\n").filter(Boolean).flatMap((line) => {
  // The last line may be cut off.
  try { return [JSON.parse(line)]; } catch { return []; }
});
const all = records.flatMap((record) => [record, ...(record.$set?.messages ?? [])]);
const calls = all.flatMap(({ toolCalls }) => toolCalls ?? []);
const known = new Set(calls.filter(({ result }) => result).map(({ id }) => id));
const isSecond = ({ type, content }) =>
  type === "user" && Array.isArray(content) && content.length > 0 &&
  content.every(({ functionResponse }) => functionResponse && known.has(functionResponse.id));
for (const { $set } of records)
  if ($set?.messages) $set.messages = $set.messages.filter((message) => !isSecond(message));
const kept = records.filter((record) => !isSecond(record));
const mended = kept.map((record) => JSON.stringify(record) + "\\n").join("");
if (mended !== text) {
  fs.writeFileSync(path + ".new", mended);
  fs.renameSync(path + ".new", path);
}
`;
