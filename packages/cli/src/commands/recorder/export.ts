import { harText, readExchanges } from "@idk/recorder/read";
import { command, type Command } from "../../command.ts";
import { field, optional } from "../../config/settings.ts";
import { printableLines } from "../../output/text.ts";
import { createFaults, EXCHANGES, filterOf, openArchive } from "../../recorder/archive.ts";
import { VERSION } from "../../version.ts";

const format = optional(
  field((text) => {
    if (text === "har") return text;
    throw new Error("must be har; `idk recorder cat` prints lines of JSON");
  }),
);

/** Characters that are written at once. */
const PIECE = 64 * 1024;

/** Writes exchanges to standard output in the format of another program. */
export const exportArchive: Command = command(
  { ...EXCHANGES, format },
  async (settings, session) => {
    const { out, signal } = session;
    await using archive = await openArchive(settings, session);
    const { onFault, finish } = createFaults(session);
    using meter = session.progress.start({ command: "recorder export", noun: "blob" });
    const options = { ...filterOf(settings), signal, onFault, onBlob: meter.itemDone };
    let piece = "";
    for await (const text of harText(readExchanges(archive, options), VERSION)) {
      // In JSON, the escapes mean the same.
      piece += printableLines(text);
      if (piece.length < PIECE) continue;
      await out.text(piece);
      piece = "";
    }
    await out.text(piece);
    meter.finish();
    await finish();
  },
);
