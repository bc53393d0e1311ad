import type { BlobInspection, BlobStat, Metadata, MetadataValue } from "@idk/storage";
import { CHUNK_LOG2_DEFAULT, FANOUT, padme, REFERENCE_LENGTH } from "@idk/storage/format";
import { aligned, foreign, formatBytes, roundBytes, type Row, toHex } from "../output/text.ts";

/** Explains what is visible of a blob without a key. */
export function describeInspection(seen: BlobInspection): string {
  const isRoot = seen.kind === "root";
  const rows: Row[] = [
    ["address", seen.address],
    ["kind", isRoot ? "root: an address as `idk put` prints it" : "chunk: below some root"],
    ["format", `idk, version ${seen.version}`],
    ["stored", formatBytes(seen.storedBytes)],
    ["header", `${formatBytes(seen.prefixBytes)}, not encrypted`],
    ["sealed", formatBytes(seen.sealedBytes)],
    ["", isRoot ? rootLength(seen.sealedBytes) : childLength(seen.sealedBytes)],
    ...(seen.recipients === undefined ? [] : [recipientsRow(seen.recipients)]),
    ...(seen.ephemeral === undefined
      ? []
      : [
          ["ephemeral", toHex(seen.ephemeral)] as const,
          ["", "a public key created for this root; reveals nothing about the recipients"] as const,
        ]),
    ["commitment", toHex(seen.commitment)],
    [
      "",
      "binds the content key, so that all readers see the same content; does not reveal the key",
    ],
    ...(seen.storedAt === undefined
      ? []
      : [["stored at", `${new Date(seen.storedAt).toISOString()}, by the store's clock`] as const]),
    ["checksum", checksum(seen.verifiedByServer)],
    ...(seen.encryption === undefined
      ? []
      : [["encryption", `${foreign(seen.encryption)}, by the store, on top of idk's`] as const]),
  ];
  return [...aligned(rows), "", ...hidden(isRoot)].join("\n");
}

function recipientsRow(recipients: number): Row {
  return ["recipients", `${recipients}: the number is visible, their keys are not`];
}

/** The possible content lengths of a root. */
function rootLength(sealed: number): string {
  const least = unpadded(sealed);
  const range = least === sealed ? `${sealed} bytes` : `${least} to ${sealed} bytes`;
  return `metadata, with content of up to 1 MiB or a list of chunks: ${range}`;
}

/** The shortest length that is padded to this one. */
function unpadded(sealed: number): number {
  // Not a padded length, so it is exact.
  if (padme(sealed) !== sealed) return sealed;
  let [low, high] = [0, sealed];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (padme(middle) < sealed) low = middle + 1;
    else high = middle;
  }
  return low;
}

const CHUNK_LENGTHS: ReadonlySet<number> = new Set([18, 19, 20, 21, 22, 23, 24].map((n) => 2 ** n));

function childLength(sealed: number): string {
  const node = sealed === FANOUT * REFERENCE_LENGTH ? ", or a full list of other chunks" : "";
  if (CHUNK_LENGTHS.has(sealed)) {
    const standard = sealed === 2 ** CHUNK_LOG2_DEFAULT ? ", the default size" : "";
    return `a full chunk of ${roundBytes(sealed)}${standard}${node}`;
  }
  const list = sealed % REFERENCE_LENGTH === 0 && sealed < FANOUT * REFERENCE_LENGTH;
  return `the last chunk of some content${list ? ", or a list of other chunks" : ""}`;
}

function checksum(attested: boolean | undefined): string {
  if (attested === undefined)
    return "none: the store reports no checksum that it is known to verify";
  return attested
    ? "ok: the store reports the checksum of these bytes"
    : "WRONG: the store reports the checksum of other bytes";
}

function hidden(isRoot: boolean): string[] {
  const what = isRoot ? "content, name, type and dates" : "content, its root";
  return [
    `Hidden from the store: ${what}, and who can read it.`,
    "The store sees when blobs are written and read, and so which ones belong together.",
  ];
}

/** Describes content as its recipients see it. */
export function describeStat(found: BlobStat): string {
  const lines = aligned([
    ["address", found.address],
    ["size", formatBytes(found.size)],
    ...(found.encodedSize === undefined
      ? []
      : [["encoded", describeEncoding(found.encodedSize, found.metadata["enc"])] as const]),
    ["stored", formatBytes(found.storedBytes)],
    ["padding", formatBytes(found.padding)],
    ["recipients", String(found.recipients)],
    ["depth", String(found.depth)],
    ["chunks", String(found.chunks)],
    // Content inline in the root has no chunks.
    ...(found.depth > 0 ? [["chunk size", formatBytes(found.chunkSize)] as const] : []),
    // The provider's encryption, on top of ours, which does not depend on it.
    ...(found.encryption === undefined
      ? []
      : [["encryption", `${foreign(found.encryption)}, by the store`] as const]),
  ]);
  const metadata = describeMetadata(found.metadata);
  return [...lines, ...(metadata.length > 0 ? ["metadata", ...metadata] : [])].join("\n");
}

/** `enc` is whatever the sender wrote. */
function describeEncoding(size: number, enc: MetadataValue | undefined): string {
  return `${formatBytes(size)}, ${enc === "zstd" || enc === "lz4" ? enc : describeValue("enc", enc)}`;
}

/** Indented, so that a metadata key, which the sender chose, cannot be mistaken for a field. */
function describeMetadata(metadata: Metadata): string[] {
  const rows = Object.entries(metadata).map(([key, value]): Row => [
    foreign(key),
    describeValue(key, value),
  ]);
  return aligned(rows).map((line) => `  ${line}`);
}

function describeValue(key: string, value: MetadataValue | undefined): string {
  if (value instanceof Uint8Array) return foreign(`hex ${toHex(value)}`);
  if (key !== "mtime" || typeof value !== "number") return foreign(JSON.stringify(value));
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? String(value) : `${value} (${time.toISOString()})`;
}
