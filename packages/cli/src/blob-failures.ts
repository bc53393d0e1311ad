import { type ItemFailures, createItemFailures } from "./item-failures.ts";
import type { Session } from "./session.ts";

/** Failures of blobs that are looked at for what is wrong with them: these are the results. */
export function createBlobFailures(session: Session): ItemFailures {
  const { out } = session;
  return createItemFailures(session, "blob", async (address, { code, message }) => {
    await out.result(`${address} ${code}: ${message}`, {
      ok: false,
      address,
      error: { code, message },
    });
    await out.flush();
  });
}
