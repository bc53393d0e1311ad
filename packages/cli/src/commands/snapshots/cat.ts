import { command, type Command } from "../../command.ts";
import { flag, snapshot } from "../../config/settings.ts";
import { usage } from "../../errors/failures.ts";
import { splitSnapshotPath } from "../../snapshots/names.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { createTextCheck } from "../../output/text.ts";
import { withPathHint } from "../../snapshots/resolve.ts";
import { startReading } from "./open.ts";

/** Writes one file of a snapshot to standard output. */
export const cat: Command = command(
  { ...READING, snapshot, acceptRollback: flag },
  async (settings, session) => {
    const { snapshot: name, path } = splitSnapshotPath(settings.snapshot);
    if (path === undefined || path === "") {
      throw usage("name a file of a snapshot, as SNAPSHOT:PATH, such as web1:/home/me/notes.txt");
    }
    const { out, signal } = session;
    await using reading = await startReading(settings, session);
    const opened = await reading.snapshot(name);
    const isText = out.terminal ? createTextCheck() : () => true;
    try {
      for await (const piece of opened.content(path, { signal })) {
        if (!isText(piece)) {
          throw usage(
            "the content is binary and may garble the terminal: redirect it to a file, or use `idk restore`",
          );
        }
        await out.bytes(piece);
      }
    } catch (error) {
      throw withPathHint(error, name);
    }
  },
);
