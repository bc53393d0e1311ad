import type { Report } from "./report.ts";
import { reportSchema } from "./schema.ts";
import { z } from "zod";

/**
 * The report as a file.
 *
 * @throws Error where it does not have the published shape: a suite has not kept to it
 */
export function renderJson(report: Report): string {
  const checked = reportSchema.safeParse(report);
  if (!checked.success) {
    throw new Error(`the report does not fit its own schema:\n${z.prettifyError(checked.error)}`);
  }
  return `${JSON.stringify(checked.data, undefined, 2)}\n`;
}

/** The shape of reports as a JSON Schema, draft 2020-12, for `--json-schema`. */
export function renderJsonSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(reportSchema), undefined, 2)}\n`;
}
