import { readExchanges } from "@idk/recorder/read";
import { command, type Command } from "../../command.ts";
import { toJson } from "../../output/text.ts";
import { createFaults, EXCHANGES, filterOf, openArchive } from "../../recorder/archive.ts";

/** Prints exchanges as lines of JSON, with `--json` or without. */
export const cat: Command = command(EXCHANGES, async (settings, session) => {
  const { out, signal } = session;
  await using archive = await openArchive(settings, session);
  const { onFault, finish } = createFaults(session);
  using meter = session.progress.start({ command: "recorder cat", noun: "blob" });
  const options = { ...filterOf(settings), signal, onFault, onBlob: meter.itemDone };
  for await (const exchange of readExchanges(archive, options)) {
    await out.result(toJson(exchange), exchange);
  }
  meter.finish();
  await finish();
});
