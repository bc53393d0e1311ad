import { type Command, command } from "../command.ts";
import { openStore } from "../open-store.ts";
import { store } from "../settings.ts";

export const ls: Command = command({ store }, async (settings, session) => {
  const { out, signal } = session;
  await using opened = await openStore(settings.store, session);
  for await (const { address, size } of opened.list({ signal })) {
    await out.result(address, { address, size });
  }
});
