import { type EarlierReach, encodeReach, extendReach } from "../../src/format/records/reach.ts";
import { addressList, type AddressList } from "../../src/format/records/address-list.ts";
import type { Address } from "@idk/storage";
import { type Marker } from "../../src/format/names/marker.ts";
import type { WriterKey } from "../../src/format/keys/writer.ts";
import { type TestRepository, bytes, storeHead, storeRecord } from "./repository-writer.ts";
import { addressOf } from "@idk/storage";

/** What a backup committed, and the next one of its chain continues. */
export interface AbstractBackup {
  readonly marker: Marker;
  readonly snapshot: Address;
  readonly packs: AddressList;
  /** The reaches that it names, and then its own. */
  readonly reaches: readonly EarlierReach[];
}

let packCount = 0;

/** Stores a pack. What is in it is nobody's business here. */
export async function storePack(
  { backend }: TestRepository,
  content: Uint8Array = bytes(`pack ${(packCount += 1)}`),
): Promise<Address> {
  const address = addressOf(content);
  await backend.put(address, content);
  return address;
}

/**
 * Stores the records and the head of a snapshot that needs these packs, each before the next, as a
 * backup does.
 */
export async function storeBackup(
  to: TestRepository,
  key: WriterKey,
  name: string,
  {
    generation,
    packs,
    base,
    kind = "snap",
    head = {},
    withMarker = true,
  }: {
    readonly generation: number;
    readonly packs: readonly Address[];
    readonly base?: AbstractBackup | undefined;
    readonly kind?: "snap" | "part";
    readonly head?: object;
    readonly withMarker?: boolean;
  },
): Promise<AbstractBackup> {
  const list = addressList(packs);
  const earlier = base?.reaches ?? [];
  const snapshot = await storeRecord(to, "snapshot", bytes(`snapshot ${generation}`));
  const content = extendReach(earlier, list);
  const reach = await storeRecord(to, "reach", encodeReach(content));
  const marker = await storeHead(
    to,
    key,
    { kind, name, generation, reach, ...(kind === "snap" && { snapshot }), ...head },
    { withMarker },
  );
  const own = { added: content.added, dropped: content.dropped, address: reach };
  const reaches = [...earlier.slice(0, content.earlier.length), own];
  return { marker, snapshot, packs: list, reaches };
}
