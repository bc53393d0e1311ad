import { type FoundSnapshot, find as matches, openSnapshot } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { flag, snapshots, text } from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { printable } from "../../output/text.ts";
import { entryJson, longLine, pathText } from "../../snapshots/entries.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { listHeads } from "../../snapshots/listing.ts";
import { type Reading, startReading } from "./open.ts";

/** Finds files by their names: in the newest snapshot of each name, or in others that are named. */
export const find: Command = command(
  { ...READING, pattern: text, snapshot: snapshots, all: flag, long: flag, acceptRollback: flag },
  async (settings, session) => {
    const { pattern, long, all } = settings;
    if (pattern === "") throw usage("PATTERN takes a name, got an empty string");
    if (all && settings.snapshot.length > 0) throw usage("--all and --snapshot exclude each other");
    const { out, signal } = session;
    await using reading = await startReading(settings, session);
    let found = 0;
    for (const each of await searched(reading, settings)) {
      const opened = await openSnapshot(reading.opened.repository, each, reading.reports.options);
      const { marker, head } = opened.found;
      let isFirst = true;
      for await (const walked of matches(opened, pattern, { signal })) {
        found += 1;
        if (isFirst && !out.json) {
          await out.result(
            `${found === 1 ? "" : "\n"}${marker.address.slice(0, 12)}  ${printable(head.name)}`,
            undefined,
          );
        }
        isFirst = false;
        await out.result(long ? longLine(walked) : pathText(walked.path), {
          snapshot: marker.address,
          name: head.name,
          ...entryJson(walked),
        });
      }
    }
    if (found > 0) return;
    await out.flush();
    throw new Failure("not-found", `no file matches ${JSON.stringify(pattern)}`);
  },
);

async function searched(
  reading: Reading,
  settings: { readonly snapshot: readonly string[]; readonly all: boolean },
): Promise<FoundSnapshot[]> {
  const named: FoundSnapshot[] = [];
  for (const text of settings.snapshot) named.push((await reading.snapshot(text)).found);
  if (named.length > 0) return named;
  const { repository } = reading.opened;
  const listed = await listHeads(repository, reading.reports.options);
  const live = listed.snapshots.filter(({ isForgotten }) => !isForgotten);
  const seen = new Set<string>();
  const chosen = live.flatMap(({ found }) => {
    if (!settings.all && seen.has(found.head.name)) return [];
    seen.add(found.head.name);
    return [found];
  });
  // As `idk snapshots` lists them.
  return chosen.toSorted((a, b) => a.head.generation - b.head.generation);
}
