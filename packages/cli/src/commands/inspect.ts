import { type Command, command } from "../command.ts";
import { address, store } from "../settings.ts";
import { describeInspection } from "../inspection.ts";
import { openStore } from "../open-store.ts";
import { resolveAddress } from "../address-prefix.ts";
import { toHex } from "../text.ts";

/** What the store can see of a blob: no identity is loaded. */
export const inspect: Command = command({ address, store }, async (settings, session) => {
  const { out, signal } = session;
  await using opened = await openStore(settings.store, session);
  const wanted = await resolveAddress(opened, settings.address, signal);
  const seen = await opened.inspect(wanted, { signal });
  const { ephemeral, commitment, verifiedByServer, storedAt, encryption, ...rest } = seen;
  await out.result(describeInspection(seen), {
    ...rest,
    attested: verifiedByServer ?? null,
    storedAt,
    encryption,
    ...(ephemeral && { ephemeral: toHex(ephemeral) }),
    commitment: toHex(commitment),
  });
});
