import { CHUNK_LOG2_DEFAULT, FANOUT, REFERENCE_LENGTH, padme } from "@idk/storage/format";
import type { BlobInspection } from "@idk/storage";
import { type Row, aligned, printable, toHex } from "./text.ts";
import { formatBytes, roundBytes } from "./sizes.ts";

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
