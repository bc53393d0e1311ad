import {
  forgottenIn,
  type FoundSnapshot,
  matchesPattern,
  type OpenSnapshot,
  openSnapshot,
} from "@idk/snapshots";
import { identityText } from "../../snapshots/entries.ts";
import { isAddressOrPrefix } from "../../blobs/address.ts";
import { type HeadReports, headReports } from "../../snapshots/head-options.ts";
import {
  openForReading,
  type OpenedRepository,
  type ReadingSettings,
} from "../../snapshots/opening/open-repository.ts";
import { resolve } from "../../snapshots/resolve.ts";
import type { Session } from "../../session.ts";

/** A repository to read snapshots from. */
export interface Reading extends AsyncDisposable {
  readonly opened: OpenedRepository;
  readonly reports: HeadReports;
  /** The snapshot that a text means, such as `latest`. A forgotten one only by its address. */
  snapshot(text: string): Promise<OpenSnapshot>;
}

/** Whether this machine writes under this name, and knows of no other. */
async function isOnlyName(
  { repository: { pins } }: ReadingSettings,
  { repository }: OpenedRepository,
  { head }: FoundSnapshot,
): Promise<boolean> {
  if (pins?.names?.value.some((name) => matchesPattern(name, head.name)) !== true) return false;
  const remembered = [...(await repository.memory.recall()).values()];
  return remembered.every(({ name }) => name === head.name || name === "" || name === ".");
}

export async function startReading(
  settings: ReadingSettings & { readonly acceptRollback: boolean },
  session: Session,
): Promise<Reading> {
  const opened = await openForReading(settings, session);
  const { options, finish } = headReports(opened, settings, session);
  const reports = { options: { ...options, reportUnreadable: true }, finish };
  const { out } = session;
  const isForgotten = forgottenIn(opened.repository, reports.options);
  return {
    opened,
    reports,
    async snapshot(text) {
      const found = await resolve(opened.repository, text, { ...reports.options, isForgotten });
      if (text === "latest" && !out.json && !(await isOnlyName(settings, opened, found))) {
        await out.note(`idk: latest is ${identityText(found)}`);
      }
      if (!out.json && isAddressOrPrefix(text) && (await isForgotten(found))) {
        await out.note(
          `idk: ${identityText(found)} is forgotten: \`idk prune\` deletes it, unless \`idk unforget\` brings it back`,
        );
      }
      return openSnapshot(opened.repository, found, reports.options);
    },
    async [Symbol.asyncDispose]() {
      await reports.finish();
      await opened[Symbol.asyncDispose]();
    },
  };
}
