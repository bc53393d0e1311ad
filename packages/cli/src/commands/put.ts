import { type Command, command } from "../command.ts";
import {
  choice,
  compression,
  field,
  flag,
  folders,
  optional,
  path,
  recipients,
  store,
  text,
} from "../settings.ts";
import { count } from "../text.ts";
import { isResumed } from "../resume.ts";
import { loadDedupSecret } from "../dedup-secret.ts";
import { loadRecipients } from "../recipients.ts";
import { openInput } from "../input.ts";
import { openStore } from "../open-store.ts";
import { parseChunkSize } from "../sizes.ts";
import { codeOf, usage } from "../failures.ts";

export const put: Command = command(
  {
    file: path,
    store,
    recipients,
    name: optional(text),
    type: optional(text),
    chunkSize: optional(field(parseChunkSize)),
    padding: flag,
    compress: compression,
    dedupSecret: optional(path),
    resume: choice,
    folders,
  },
  async (settings, session) => {
    const { out, signal } = session;
    const { name, type, chunkSize, padding, resume } = settings;
    const to = await loadRecipients(settings.recipients);
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    const { content, file } = await openInput(settings.file);
    if (resume === true && file === undefined) {
      throw usage("--resume takes a regular file: what it continues has to be read once more");
    }
    await using opened = await openStore(settings.store, session);
    // With a dedup secret it is the store that knows what it has.
    const journaled =
      file !== undefined && dedupSecret === undefined && isResumed(resume, file.size);
    const journal = journaled
      ? await (
          await import("../put-journal.ts")
        ).openPutJournal(
          {
            path: settings.file,
            file,
            store: settings.store,
            recipients: to,
            cut: { chunkSize, padding, compress: settings.compress },
          },
          settings.folders,
          out,
        )
      : undefined;
    let chunks = 0;
    try {
      const address = await opened.put(content, {
        recipients: to,
        metadata: { ...(name !== undefined && { name }), ...(type !== undefined && { type }) },
        chunkSize,
        padding: padding ? "padme" : "none",
        compression: settings.compress,
        dedupSecret,
        signal,
        journal,
        onProgress: (progress) => ({ chunks } = progress),
      });
      await out.result(address, { address });
      // Who does not get to see the address asks for it again, and shall not wait as long.
      await out.flush();
    } catch (error) {
      const noted = journal?.count() ?? 0;
      journal?.close();
      // A file that changed is another one the next time.
      if (noted > 0 && codeOf(error) !== "usage" && !out.json) {
        await out.note(
          `idk: ${count(noted, "chunk")} are stored: the same command continues there`,
        );
      }
      throw error;
    }
    if (journal === undefined) return;
    journal.remove();
    if (journal.sent < chunks && !out.json) {
      await out.note(`idk: continued: ${chunks - journal.sent} of ${chunks} chunks were there`);
    }
  },
);
