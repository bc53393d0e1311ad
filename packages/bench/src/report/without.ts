import type { Suite } from "../suite.ts";
import type { SuiteResult } from "./report.ts";

/** The result of a suite that has found nothing. */
export function without(
  { name, title }: Suite,
  { status, reason }: { readonly status: "skipped" | "failed"; readonly reason: string },
  seconds: number = 0,
): SuiteResult {
  return {
    suite: name,
    title,
    status,
    reason,
    seconds,
    measurements: [],
    pairs: [],
    targets: [],
    notes: [],
  };
}
