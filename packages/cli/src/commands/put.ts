import { type Command, command } from "../command.ts";
import { compression, field, flag, optional, path, recipients, store, text } from "../settings.ts";
import { loadDedupSecret } from "../dedup-secret.ts";
import { loadRecipients } from "../recipients.ts";
import { openInput } from "../input.ts";
import { openStore } from "../open-store.ts";
import { parseChunkSize } from "../sizes.ts";

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
  },
  async (settings, session) => {
    const { out, signal } = session;
    const { name, type, chunkSize } = settings;
    const to = await loadRecipients(settings.recipients);
    const dedupSecret = await loadDedupSecret(settings.dedupSecret, session);
    const input = await openInput(settings.file);
    await using opened = await openStore(settings.store, session);
    const address = await opened.put(input, {
      recipients: to,
      metadata: { ...(name !== undefined && { name }), ...(type !== undefined && { type }) },
      chunkSize,
      padding: settings.padding ? "padme" : "none",
      compression: settings.compress,
      dedupSecret,
      signal,
    });
    await out.result(address, { address });
  },
);
