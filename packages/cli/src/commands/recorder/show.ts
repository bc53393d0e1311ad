import { readExchanges } from "@idk/recorder/read";
import { command, type Command } from "../../command.ts";
import { field } from "../../config/settings.ts";
import { Failure } from "../../errors/failures.ts";
import { ARCHIVE, createFaults, openArchive } from "../../recorder/archive.ts";
import { exchangeText } from "../../recorder/exchange-text.ts";

const id = field((text) => {
  if (/^[0-9a-f]{12}-\d{1,16}$/u.test(text)) return text;
  throw new Error("must be the id of an exchange, as `idk recorder ls` prints it");
});

/** Prints one exchange with its headers and bodies. */
export const show: Command = command({ ...ARCHIVE, id }, async (settings, session) => {
  const { out, signal } = session;
  await using archive = await openArchive(settings, session);
  const { onFault, finish } = createFaults(session);
  using meter = session.progress.start({ command: "recorder show", noun: "blob" });
  const { id: wanted, since: from, until: to } = settings;
  let found = 0;
  const options = { id: wanted, from, to, signal, onFault, onBlob: meter.itemDone };
  for await (const exchange of readExchanges(archive, options)) {
    found += 1;
    await out.result(exchangeText(exchange), exchange);
  }
  meter.finish();
  await finish();
  if (found === 0) throw new Failure("not-found", `the archive has no exchange ${wanted}`);
});
