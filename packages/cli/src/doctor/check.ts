import { codeOf, type FailureCode, worstOf } from "../errors/failures.ts";

/** One thing that was looked at. */
export interface Check {
  /** One or two words. */
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  /** What was found, in one line. */
  readonly message: string;
  /** What to do about it, where it is not well. */
  readonly remedy?: string;
  /** Of a failure. */
  readonly code?: FailureCode;
}

export function well(check: string, message: string): Check {
  return { check, status: "ok", message };
}

export function warning(check: string, message: string, remedy: string): Check {
  return { check, status: "warning", message, remedy };
}

export function failed(check: string, code: FailureCode, message: string, remedy: string): Check {
  return { check, status: "failed", message, remedy, code };
}

/** A failure from what was thrown; what is no expected failure is thrown on. */
export function failedBy(check: string, error: unknown, remedy: string): Check {
  const code = codeOf(error);
  if (code === "unexpected" || code === "aborted" || !(error instanceof Error)) throw error;
  return failed(check, code, error.message, remedy);
}

/** The code of a run with these checks, or undefined where nothing failed. */
export function worstCode(checks: readonly Check[]): FailureCode | undefined {
  const codes = checks.flatMap(({ code }) => code ?? []);
  return codes.length === 0 ? undefined : worstOf(codes);
}
