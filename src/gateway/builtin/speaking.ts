/**
 * Owns the tools by which an agent sends text: to other sessions, to a person, and to its own notes.
 */
import * as z from "zod/mini";
import type { PlainTool } from "../../lane/index.ts";
import type { ToolPlace } from "./place.ts";
import { tool } from "./tool.ts";

const MAX_TEXT = 20_000;
const text = z.string().check(z.minLength(1), z.maxLength(MAX_TEXT));

/** Its class is not read, because it has an effect in another session. */
export const sendMessageTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "send_message",
    class: "write",
    description:
      "Sends a message to another session, by its name or id. Its agent reads the message when it next looks.",
    input: z.strictObject({
      to: z.string().check(z.minLength(1), z.maxLength(200), z.describe("The session's name or id.")),
      text: text.check(z.describe("The message.")),
    }),
    async run({ to, text }) {
      const message = await place.send(to, text);
      return { outcome: "ok", text: `sent as ${message}\n`, facts: { message } };
    },
  });

export const askPersonTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "ask_person",
    class: "read",
    description:
      "Asks the person that the task is for, and waits a while for the answer. If none comes in time, the question stays open, and the answer comes later as a message. With take_over, the person is asked to continue with the files themselves.",
    input: z.strictObject({
      question: text.check(z.describe("The question, with everything that is needed to answer it.")),
      take_over: z.optional(z.boolean().check(z.describe("Default: false."))),
    }),
    async run({ question: asked, take_over: isTakeOver = false }, { signal }) {
      const { question, answer } = await place.ask({ text: asked, isTakeOver }, signal);
      if (answer !== undefined)
        return { outcome: "ok", text: answer, facts: { question, is_answered: true }, decided: question };
      const text =
        "no answer yet: the question stays open. You will get the answer as a message; asking the same question again waits for the same answer\n";
      return { outcome: "error", text, facts: { question, is_answered: false, is_held: true } };
    },
  });

/** It changes none of the task's files. */
export const noteTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "note",
    class: "read",
    description:
      "Notes something for later, such as a plan, a finding, or what was tried. Notes are in the task's scratch.md, outside of its files.",
    input: z.strictObject({ text: text.check(z.describe("Markdown.")) }),
    async run({ text }) {
      await place.note(text);
      return { outcome: "ok", text: "noted\n" };
    },
  });
