/**
 * Owns the form of every answer that reports a failure: `{error, message}` and a status. A failure without a
 * code is a bug of ours, and its message is not sent.
 */
import type { ServerResponse } from "node:http";
import { type ErrorCode, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { isDiskFull } from "../util/index.ts";
import { reply } from "./reply.ts";

/** A failure that only HTTP has: it brings its own status. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const notFound = () => new Refusal(404, "not_found", "there is nothing at this path");

/** What one server answers differently from another. */
export interface FailureForm {
  /** The status of a failure that has a code. */
  statusOf(code: ErrorCode): number;
  /** People are told what they can do about it; an agent can't do it. */
  readonly tellsWayOut: boolean;
  /** Whether the connection ends, so that the rest of an unread body can't be taken for the next request. */
  readonly endsConnection: boolean;
}

/** An answer that has begun can't be taken back, so the connection is cut. */
export function fail(response: ServerResponse, error: unknown, form: FailureForm): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { status, code, message, wayOut } = failureOf(error, form);
  if (form.endsConnection) response.setHeader("connection", "close");
  reply(response, status, { error: code, message, ...(wayOut && { wayOut }) });
}

function failureOf(error: unknown, form: FailureForm) {
  if (error instanceof Refusal) return { ...error, message: error.message, wayOut: "" };
  const known = isDiskFull(error) ? new HoldfastError("disk_full", "the disk is full") : error;
  if (!isHoldfastError(known)) return { status: 500, code: "bug", message: "a bug in holdfast", wayOut: "" };
  const { code, message, wayOut } = known;
  return { status: form.statusOf(code), code, message, wayOut: form.tellsWayOut ? wayOut : "" };
}
