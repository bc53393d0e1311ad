import { type OpenSnapshot, openSnapshot } from "@idk/snapshots";
import { type HeadReports, headReports } from "../../snapshots/head-options.ts";
import {
  openForReading,
  type OpenedRepository,
  type ReadingSettings,
} from "../../snapshots/open-repository.ts";
import { resolve } from "../../snapshots/resolve.ts";
import type { Session } from "../../session.ts";

/** A repository to read snapshots from. */
export interface Reading extends AsyncDisposable {
  readonly opened: OpenedRepository;
  readonly reports: HeadReports;
  /** The snapshot that a text means, such as `latest`. */
  snapshot(text: string): Promise<OpenSnapshot>;
}

export async function startReading(
  settings: ReadingSettings & { readonly acceptRollback: boolean },
  session: Session,
): Promise<Reading> {
  const opened = await openForReading(settings, session);
  const reports = headReports(settings, session);
  return {
    opened,
    reports,
    async snapshot(text) {
      const found = await resolve(opened.repository, text, reports.options);
      return openSnapshot(opened.repository, found, reports.options);
    },
    async [Symbol.asyncDispose]() {
      await reports.finish();
      await opened[Symbol.asyncDispose]();
    },
  };
}
