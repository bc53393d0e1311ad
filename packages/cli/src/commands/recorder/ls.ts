import { listSegments, readExchanges } from "@idk/recorder/read";
import { command, type Command } from "../../command.ts";
import { flag } from "../../config/settings.ts";
import { usage } from "../../errors/failures.ts";
import { count, roundBytes } from "../../output/text.ts";
import {
  createFaults,
  EXCHANGES,
  filterOf,
  momentText,
  openArchive,
  segmentJson,
} from "../../recorder/archive.ts";
import { exchangeLine, exchangeSummary } from "../../recorder/exchange-text.ts";

/** Lists exchanges, one on a line; or segments. */
export const ls: Command = command({ ...EXCHANGES, segments: flag }, async (settings, session) => {
  const { status, route, id, grep, segments } = settings;
  if (segments && [status, route, id, grep].some((given) => given !== undefined)) {
    throw usage("--segments takes no other filters than --since and --until");
  }
  const { out, signal } = session;
  await using archive = await openArchive(settings, session);
  const faults = createFaults(session);
  using meter = session.progress.start({ command: "recorder ls", noun: "blob" });
  const options = { ...filterOf(settings), ...faults, signal, onBlob: meter.itemDone };
  let listed = 0;
  if (segments) {
    for (const segment of await listSegments(archive, options)) {
      listed += 1;
      const { address, metadata, storedBytes } = segment;
      const digits = out.terminal ? TERMINAL_DIGITS : address.length;
      const { from, to, run, seq } = metadata;
      await out.result(
        [
          address.slice(0, digits),
          `${momentText(from)} to ${momentText(to)}`,
          count(metadata.count, "exchange").padStart(14),
          roundBytes(storedBytes).padStart(9),
          `${run.slice(0, 12)}/${seq}`,
        ].join("  "),
        segmentJson(segment),
      );
    }
  } else {
    for await (const exchange of readExchanges(archive, options)) {
      listed += 1;
      await out.result(exchangeLine(exchange), exchangeSummary(exchange));
    }
  }
  meter.finish();
  await out.flush();
  if (!out.json) await out.note(count(listed, segments ? "segment" : "exchange"));
  await faults.finish();
});

/** The whole address does not fit on a terminal. */
const TERMINAL_DIGITS = 20;
