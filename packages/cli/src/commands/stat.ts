import type { BlobStat, Metadata, MetadataValue } from "@idk/storage";
import { type Command, command } from "../command.ts";
import { address, identitySources, passphrase, store } from "../settings.ts";
import { type Row, aligned, printable, toHex } from "../text.ts";
import { formatBytes } from "../sizes.ts";
import { loadIdentities } from "../identities.ts";
import { openStore } from "../open-store.ts";
import { resolveAddress } from "../address-prefix.ts";

export const stat: Command = command(
  { address, store, identity: identitySources, passphrase },
  async (settings, session) => {
    const identities = await loadIdentities(settings, session);
    await using opened = await openStore(settings.store, session, { identities });
    const { signal } = session;
    const wanted = await resolveAddress(opened, settings.address, signal);
    const found = await opened.stat(wanted, { signal });
    await session.out.result(describe(found), found);
  },
);

function describe(found: BlobStat): string {
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
