import type { WalkedEntry } from "@idk/snapshots";
import { entryJson, longLine, pathText } from "../../snapshots/entries.ts";
import type { ReadingSettings } from "../../snapshots/opening/open-repository.ts";
import type { Session } from "../../session.ts";
import { withPathHint } from "../../snapshots/resolve.ts";
import { startReading } from "./open.ts";

/** What `idk ls` lists of a snapshot. */
export interface ListSettings extends ReadingSettings {
  readonly snapshot: string;
  readonly path: string | undefined;
  readonly long: boolean;
  readonly recursive: boolean;
  readonly acceptRollback: boolean;
}

/** Lists a snapshot: all of it, or what is in one folder. */
export async function listSnapshot(settings: ListSettings, session: Session): Promise<void> {
  const { snapshot, path, long } = settings;
  const { out, signal } = session;
  await using reading = await startReading(settings, session);
  const opened = await reading.snapshot(snapshot);
  const recursive = settings.recursive || path === undefined;
  const line = (walked: WalkedEntry): string => (long ? longLine(walked) : pathText(walked.path));
  try {
    for await (const walked of opened.entries(path ?? "", { signal, recursive })) {
      await out.result(line(walked), entryJson(walked));
    }
  } catch (error) {
    throw withPathHint(error, snapshot);
  }
}
