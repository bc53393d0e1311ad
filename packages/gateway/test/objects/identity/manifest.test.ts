import { expect, test } from "bun:test";
import { parseAddress } from "@idk/storage";
import type { ExportedRow, Part, PlacedRoot } from "../../../src/catalog/records.ts";
import {
  CONTENTS_MAX,
  decodeManifest,
  encodeManifest,
  MANIFEST_MAX,
} from "../../../src/objects/identity/manifest.ts";
import { decodeRows, encodeRow } from "../../../src/objects/maintenance/rows.ts";

/** As long as they can be: numbers grow with the catalog, and a part has one checksum of each kind. */
const LARGEST = 2 ** 52;
const CHECKSUMS = {
  crc32: "A".repeat(8),
  crc32c: "A".repeat(8),
  crc64nvme: "A".repeat(12),
  sha1: "A".repeat(28),
  sha256: "A".repeat(44),
};

test("the longest manifest that is written can be read, and so can its row of a snapshot", async () => {
  const address = parseAddress("ab".repeat(32));
  const md5 = "cd".repeat(16);
  const contents = Array.from({ length: CONTENTS_MAX }, (): PlacedRoot => ({
    address,
    size: LARGEST,
    md5,
    part: 10_000,
  }));
  const parts = Array.from({ length: 10_000 }, (_, i): Part => ({
    number: i + 1,
    seq: LARGEST,
    size: LARGEST,
    etag: md5,
    time: LARGEST,
    checksums: CHECKSUMS,
  }));
  const encoded = encodeManifest({ contents, parts });
  expect(encoded.length).toBeLessThanOrEqual(MANIFEST_MAX);
  const decoded = decodeManifest(encoded);
  expect([decoded.contents.length, decoded.parts.length]).toEqual([CONTENTS_MAX, parts.length]);

  const row: ExportedRow = {
    type: "object",
    object: {
      bucket: LARGEST,
      key: new Uint8Array(1024),
      seq: LARGEST,
      kind: "manifest",
      root: address,
      size: LARGEST,
      etag: `${md5}-10000`,
      time: LARGEST,
      checksums: CHECKSUMS,
      headers: { "x-amz-meta-a": "ä".repeat(64 * 1024) },
      tags: Array.from({ length: 10 }, () => ["k".repeat(128), "v".repeat(256)] as const),
      parts: parts.length,
    },
    contents,
    parts,
  };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield encodeRow(row);
  }
  const [read, ...others] = await Array.fromAsync(decodeRows(pieces()));
  expect(others).toEqual([]);
  expect(read?.type === "object" && read.contents.length).toBe(CONTENTS_MAX);
}, 120_000);
