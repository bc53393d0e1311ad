import type { BlobInspection, BlobStat, Metadata, MetadataValue } from "@idk/storage";
import { CHUNK_LOG2_DEFAULT, FANOUT, padme, REFERENCE_LENGTH } from "@idk/storage/format";
import { aligned, formatBytes, printable, roundBytes, type Row, toHex } from "../output/text.ts";

/** What a blob shows without a key, explained to people. */
export function describeInspection(seen: BlobInspection): string {
  const isRoot = seen.kind === "root";
  const rows: Row[] = [
    ["address", seen.address],
    ["kind", isRoot ? "root: what `idk put` gives an address of" : "chunk: below some root"],
    ["format", `idk, version ${seen.version}`],
    ["stored", formatBytes(seen.storedBytes)],
    ["header", `${formatBytes(seen.prefixBytes)}, open to everybody`],
    ["sealed", formatBytes(seen.sealedBytes)],
    ["", isRoot ? rootLength(seen.sealedBytes) : childLength(seen.sealedBytes)],
    ...(seen.recipients === undefined ? [] : [recipientsRow(seen.recipients)]),
    ...(seen.ephemeral === undefined
      ? []
      : [
          ["ephemeral", toHex(seen.ephemeral)] as const,
          ["", "a public key made for this root alone; says nothing of the recipients"] as const,
        ]),
    ["commitment", toHex(seen.commitment)],
    ["", "fixes the key of the content, so that all readers see the same; tells nothing of it"],
    ...(seen.storedAt === undefined
      ? []
      : [["stored at", `${new Date(seen.storedAt).toISOString()}, by the store's clock`] as const]),
    ["attested", attestation(seen.verifiedByServer)],
    ...(seen.encryption === undefined
      ? []
      : [["encryption", printable(`${seen.encryption}, by the store on top of ours`)] as const]),
  ];
  return [...aligned(rows), "", ...hidden(isRoot)].join("\n");
}

function recipientsRow(recipients: number): Row {
  return ["recipients", `${recipients}: how many shows, not who`];
}

/** What a length tells of what a root holds. */
function rootLength(sealed: number): string {
  const least = unpadded(sealed);
  const range = least === sealed ? `${sealed} bytes` : `${least} to ${sealed} bytes`;
  return `metadata, with content of up to 1 MiB or a list of chunks: ${range}`;
}

/** The shortest length that padding rounds up to this one. */
function unpadded(sealed: number): number {
  // Not written with padding, and so exact.
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
    const standard = sealed === 2 ** CHUNK_LOG2_DEFAULT ? ", the usual size" : "";
    return `a full chunk of ${roundBytes(sealed)}${standard}${node}`;
  }
  const list = sealed % REFERENCE_LENGTH === 0 && sealed < FANOUT * REFERENCE_LENGTH;
  return `the last chunk of some content${list ? ", or a list of other chunks" : ""}`;
}

function attestation(attested: boolean | undefined): string {
  if (attested === undefined) return "no: the store keeps no checksum of it, or does not say";
  return attested
    ? "yes: the store says that it received these bytes"
    : "NO: the store says that it received other bytes under this name";
}

function hidden(isRoot: boolean): string[] {
  const what = isRoot ? "content, name, type and dates" : "content, and the root it is below";
  return [
    `Hidden from the store: ${what}, and who can read it.`,
    "It does see when blobs come and are asked for, and so which belong together.",
  ];
}

/** What an address holds, as its recipients can see it. */
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
    // Content that stands in the root is not cut.
    ...(found.depth > 0 ? [["chunk size", formatBytes(found.chunkSize)] as const] : []),
    // The provider's own encryption, on top of ours and without weight for it.
    ...(found.encryption === undefined
      ? []
      : [["encryption", printable(`${found.encryption}, by the store`)] as const]),
  ]);
  const metadata = describeMetadata(found.metadata);
  return [...lines, ...(metadata.length > 0 ? ["metadata", ...metadata] : [])].join("\n");
}

/** By the sender's word, which may be anything. */
function describeEncoding(size: number, enc: MetadataValue | undefined): string {
  return `${formatBytes(size)}, ${enc === "zstd" || enc === "lz4" ? enc : describeValue("enc", enc)}`;
}

/** Indented, so that no key can be mistaken for a field; it is whatever the sender wrote. */
function describeMetadata(metadata: Metadata): string[] {
  const rows = Object.entries(metadata).map(([key, value]): Row => [
    printable(key),
    describeValue(key, value),
  ]);
  return aligned(rows).map((line) => `  ${line}`);
}

function describeValue(key: string, value: MetadataValue | undefined): string {
  if (value instanceof Uint8Array) return `hex ${toHex(value)}`;
  if (key !== "mtime" || typeof value !== "number") return printable(JSON.stringify(value));
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? String(value) : `${value} (${time.toISOString()})`;
}
