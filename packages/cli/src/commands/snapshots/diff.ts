import { diff as differences } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { flag, snapshot } from "../../config/settings.ts";
import { differenceSign, entryJson, pathJson, pathText } from "../../snapshots/entries.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { count, roundBytes } from "../../output/text.ts";
import { startReading } from "./open.ts";

/** Prints what differs between two snapshots. */
export const diff: Command = command(
  { ...READING, before: snapshot, after: snapshot, acceptRollback: flag },
  async (settings, session) => {
    const { out, signal } = session;
    await using reading = await startReading(settings, session);
    const before = await reading.snapshot(settings.before);
    const after = await reading.snapshot(settings.after);
    const sum = { added: 0, removed: 0, content: 0, attributes: 0 };
    const bytes = { added: 0, removed: 0 };
    for await (const difference of differences(before, after, signal)) {
      const { path, change } = difference;
      sum[change] += 1;
      if (change !== "attributes") {
        bytes.removed += sizeOf(difference.before);
        bytes.added += sizeOf(difference.after);
      }
      await out.result(`${differenceSign(difference)}  ${pathText(path)}`, {
        change,
        path: pathJson(path),
        before: difference.before && entryJson(difference.before),
        after: difference.after && entryJson(difference.after),
      });
    }
    await out.flush();
    if (out.json) return;
    await out.note(
      `${sum.added} added, ${sum.removed} removed, ${sum.content} changed, ` +
        `${count(sum.attributes, "entry").replace("entrys", "entries")} with other attributes only; ` +
        `+${roundBytes(bytes.added)}, -${roundBytes(bytes.removed)}`,
    );
  },
);

function sizeOf(walked: { readonly entry: { readonly type: string } } | undefined): number {
  const entry = walked?.entry;
  return entry !== undefined && "size" in entry && typeof entry.size === "number" ? entry.size : 0;
}
