import { type Command, command } from "../command.ts";
import { paths } from "../config/settings.ts";
import { printableMessage } from "../output/text.ts";
import type { Session } from "../session.ts";
import { mergeReports, readReports, unansweredText } from "../shards/merge.ts";
import { failuresOf, type Report } from "../shards/report.ts";
import { momentText, summaryOf } from "../shards/summary.ts";

/** Adds up the reports of all shards, and ends as the command on the whole store would. */
export const mergeReportsCommand: Command = command(
  { report: paths },
  async (settings, session) => {
    const reports = await readReports(settings.report);
    await print(mergeReports(reports), unansweredText(reports), session);
  },
);

async function print(
  merged: Report,
  unanswered: string | undefined,
  { out }: Session,
): Promise<void> {
  const { command: name, stores, shard, options, begun, ended } = merged;
  const { counts, shared, failures } = merged;
  const failed = failuresOf(merged).count;
  for (const { item, code, message } of failures) {
    const line = item === undefined ? message : `${item} ${code}: ${message}`;
    await out.result(printableMessage(line), {
      ok: false,
      address: item,
      error: { code, message },
    });
  }
  const { lines, failure } = summaryOf(merged, true);
  const more = failed - failures.length;
  const ran = `ran from ${momentText(begun)} to ${momentText(ended)}`;
  await out.result([...lines, ran].map(printableMessage).join("\n"), {
    command: name,
    stores,
    shards: shard.count,
    options,
    begun,
    ended,
    ...shared,
    ...counts,
    failed,
  });
  await out.flush();
  if (more > 0 && !out.json) {
    await out.note(`idk: note: ${more} more failures are counted, and not listed`);
  }
  if (unanswered !== undefined && !out.json) await out.note(`idk: note: ${unanswered}`);
  if (failure !== undefined) throw failure;
}
