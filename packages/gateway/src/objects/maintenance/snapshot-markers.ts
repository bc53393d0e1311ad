import { type Address, type Backend, parseAddress } from "@idk/storage";
import { hash, toHex, utf8 } from "@idk/storage/blobs";

/*
 * A snapshot of the catalog is found by a marker: the chain of gateways, then its seq as 16 hexadecimal
 * digits, then the address of its root. A marker proves nothing; the root it leads to has a MAC.
 */

/** The same in every store: 32 hexadecimal digits. */
const CHAIN = toHex(hash(utf8("idk/s3/snapshots"))).slice(0, 32);
const SEQ_DIGITS = 16;

/** A marker of a snapshot. */
export interface SnapshotMarker {
  readonly name: string;
  readonly seq: number;
  readonly address: Address;
}

/** The name of the marker of a snapshot. */
export function markerOf(seq: number, address: Address): string {
  return `${CHAIN}/${seq.toString(16).padStart(SEQ_DIGITS, "0")}-${address}`;
}

/** The markers of the snapshots in a store, the newest first; none if its backend has no markers. */
export async function listSnapshots(
  backend: Backend,
  signal?: AbortSignal,
): Promise<readonly SnapshotMarker[]> {
  const found: SnapshotMarker[] = [];
  for await (const { name } of backend.listMarkers?.(`${CHAIN}/`, { signal }) ?? []) {
    const [seq, address] = name.slice(CHAIN.length + 1).split("-");
    found.push({ name, seq: Number.parseInt(seq!, 16), address: parseAddress(address!) });
  }
  return found.toReversed();
}
