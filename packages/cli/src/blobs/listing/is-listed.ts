import type { Identity, Recipient, Store } from "@idk/storage";

/**
 * Whether `idk ls --long` with these identities lists a blob that has just been stored. False if that
 * is not certain: the store may accept uploads and reject everything else. Never rejects.
 */
export async function isListedFor(
  identities: readonly Identity[],
  recipients: readonly Recipient[],
  opened: Pick<Store, "list" | "has">,
  address: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (!identities.some(({ recipient }) => recipients.includes(recipient))) return false;
  try {
    for await (const _ of opened.list({ signal })) break;
    return await opened.has(address, { signal });
  } catch {
    // Whatever it was, also an interruption: what was stored is printed before the run ends.
    return false;
  }
}
