import type { StoreContext, WritePlan } from "./context.ts";
import { type RootDraft, encodeRoot } from "../format/root.ts";
import { type RootKeys, convergentRootKeys, randomKey } from "../crypto/key-schedule.ts";
import { type Address, addressOf } from "../content/address.ts";
import { sealRoot } from "../crypto/seal.ts";
import { storeBlob } from "./store-blob.ts";

/** Seals and stores a root. Everything it refers to is already stored. */
export async function writeRoot(
  { backend, naCl }: StoreContext,
  plan: Pick<WritePlan, "publicKeys" | "pad" | "dedupSecret">,
  draft: RootDraft,
  signal: AbortSignal | undefined,
): Promise<Address> {
  const plaintext = encodeRoot(draft, plan.pad);
  const keys: RootKeys = plan.dedupSecret
    ? convergentRootKeys(plan.dedupSecret, plan.publicKeys, plaintext)
    : { contentKey: randomKey(), ephemeralSecret: randomKey() };
  const blob = sealRoot(naCl, keys, plan.publicKeys, plaintext);
  const address = addressOf(blob);
  await storeBlob(backend, address, blob, { convergent: plan.dedupSecret !== undefined, signal });
  return address;
}
