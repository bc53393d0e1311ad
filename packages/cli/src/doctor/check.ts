import { codeOf, type FailureCode, messageOf, worstOf } from "../errors/failures.ts";

/** The result of one check. */
export interface Check {
  /** One or two words. */
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  /** The finding, in one line. */
  readonly message: string;
  /** How to fix it. */
  readonly remedy?: string;
  /** Set if it failed. */
  readonly code?: FailureCode;
}

export function passed(check: string, message: string): Check {
  return { check, status: "ok", message };
}

export function warning(check: string, message: string, remedy: string): Check {
  return { check, status: "warning", message, remedy };
}

export function failed(check: string, code: FailureCode, message: string, remedy: string): Check {
  return { check, status: "failed", message, remedy, code };
}

/** Turns an error into a failed check; rethrows unexpected errors and interruptions. */
export function failedWith(check: string, error: unknown, remedy: string): Check {
  const code = codeOf(error);
  if (code === "unexpected" || code === "aborted" || !(error instanceof Error)) throw error;
  return failed(check, code, messageOf(error), remedy);
}

/** The code of a run with these checks; undefined if none failed. */
export function worstCode(checks: readonly Check[]): FailureCode | undefined {
  const codes = checks.flatMap(({ code }) => code ?? []);
  return codes.length === 0 ? undefined : worstOf(codes);
}
