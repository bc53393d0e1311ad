import type { PutReport } from "@idk/storage";
import { count } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { closeUnfinished } from "./file-journals.ts";
import type { OpenPutJournal } from "./put-journal.ts";
import { describeSkipped } from "./put-report.ts";

interface Upload {
  /** Stores the content and returns its address. */
  readonly store: (onReport: (report: PutReport) => void) => Promise<string>;
  /** Removed after success, and kept for the next run after a failure. */
  readonly journal: OpenPutJournal | undefined;
  /** Undefined if the caller ends it. */
  readonly meter: Meter | undefined;
  /** The name of the content, if it is one of several, each with a line of its own. */
  readonly one?: string | undefined;
  /** Added to the result in JSON. */
  readonly details: object;
}

/** Stores one content, prints its address, and notes what was uploaded, resumed or skipped. */
export async function storeAndPrint(
  { store, journal, meter, one, details }: Upload,
  { out }: Pick<Session, "out">,
): Promise<void> {
  const continues = (journal?.count() ?? 0) > 0;
  let report: PutReport | undefined;
  let summary: string | undefined;
  try {
    const address = await store((made) => {
      report = made;
    });
    summary = meter?.finish();
    await out.result(one === undefined ? address : `${address}  ${one}`, {
      ...(one !== undefined && { ok: true }),
      address,
      ...report,
      ...details,
    });
    // Print the address before anything else: an upload that did not print it has to be repeated.
    await out.flush();
  } catch (error) {
    const note = closeUnfinished(journal, error);
    if (note !== undefined && !out.json)
      await out.note(`idk: ${one === undefined ? "" : `${one}: `}${note}`);
    throw error;
  }
  journal?.remove();
  if (out.json || report === undefined || one !== undefined) return;
  if (summary !== undefined) await out.note(`idk: stored ${summary}`);
  const { chunks, skippedChunks } = report;
  if (continues && skippedChunks > 0) {
    await out.note(
      `idk: resumed: ${skippedChunks} of ${count(chunks, "chunk")} were already stored`,
    );
    return;
  }
  const skipped = describeSkipped(report);
  if (skipped !== undefined) await out.note(`idk: ${skipped}`);
}
