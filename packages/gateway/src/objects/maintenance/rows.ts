import { type CborItem, concat, decodeCborT, encodeCborT, CborError } from "@idk/storage/blobs";
import { parseAddress } from "@idk/storage";
import type { ExportedRow, ObjectRecord, Upload } from "../../catalog/records.ts";
import { decodeContent, decodePart, encodeContent, encodePart } from "../identity/manifest.ts";
import {
  bytesOf,
  cborOf,
  integerOf,
  listOf,
  mapOf,
  tagsOf,
  textOf,
  textsOf,
} from "../identity/records.ts";

/** The most bytes of an encoded row: as of a manifest. */
const ROW_MAX = 2 ** 26;
const ITEMS_MAX = 2 ** 22;
const LENGTH_BYTES = 4;

/** Encodes rows of the catalog, each after its length as four bytes, the highest first. */
export async function* encodeRows(
  rows: AsyncIterable<ExportedRow> | Iterable<ExportedRow>,
): AsyncGenerator<Uint8Array> {
  for await (const row of rows) yield encodeRow(row);
}

/** One encoded row, with its length before it. */
export function encodeRow(row: ExportedRow): Uint8Array {
  const encoded = encodeCborT(
    new Map(Object.entries(row).map(([name, item]) => [name, fieldOf(name, item)])),
  );
  const length = new Uint8Array(LENGTH_BYTES);
  new DataView(length.buffer).setUint32(0, encoded.length);
  return concat(length, encoded);
}

function fieldOf(name: string, item: unknown): CborItem {
  // Content roots of a part have no number of their own.
  if (name === "contents") {
    return (item as Extract<ExportedRow, { type: "object" }>["contents"]).map((root) =>
      encodeContent({ ...root, part: root.part ?? 1 }),
    );
  }
  if (name === "parts") return (item as Parameters<typeof encodePart>[0][]).map(encodePart);
  if (name === "part") return encodePart(item as Parameters<typeof encodePart>[0]);
  return cborOf(item);
}

/**
 * Decodes rows.
 *
 * @throws CborError if the bytes are something else, or end within a row
 */
export async function* decodeRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ExportedRow> {
  let held: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    held = held.length === 0 ? new Uint8Array(piece) : concat(held, piece);
    let at = 0;
    while (held.length - at >= LENGTH_BYTES) {
      const length = new DataView(held.buffer, held.byteOffset + at).getUint32(0);
      if (length > ROW_MAX) throw new CborError("a row is too long");
      const end = at + LENGTH_BYTES + length;
      if (end > held.length) break;
      yield decodeRow(held.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    held = held.subarray(at);
  }
  if (held.length > 0) throw new CborError("the rows end within one");
}

function decodeRow(bytes: Uint8Array): ExportedRow {
  const fields = mapOf(decodeCborT(bytes, { itemsMax: ITEMS_MAX }));
  const contents = () => listOf(fields.get("contents")).map(decodeContent);
  switch (textOf(fields.get("type"))) {
    case "bucket": {
      const bucket = mapOf(fields.get("bucket"));
      return {
        type: "bucket",
        bucket: {
          id: integerOf(bucket.get("id")),
          name: textOf(bucket.get("name")),
          owner: textOf(bucket.get("owner")),
          region: textOf(bucket.get("region")),
          time: integerOf(bucket.get("time")),
        },
      };
    }
    case "object": {
      const object = mapOf(fields.get("object"));
      return {
        type: "object",
        object: {
          ...objectOf(object),
          bucket: integerOf(object.get("bucket")),
          key: bytesOf(object.get("key")),
          parts: integerOf(object.get("parts")),
        },
        contents: contents(),
        parts: listOf(fields.get("parts")).map(decodePart),
      };
    }
    case "upload":
      return { type: "upload", upload: uploadOf(mapOf(fields.get("upload"))) };
    case "part":
      return {
        type: "part",
        upload: integerOf(fields.get("upload")),
        part: decodePart(fields.get("part")!),
        contents: contents().map(({ address, size, md5 }) => ({ address, size, md5 })),
      };
    default:
      throw new CborError("this type of row is not known");
  }
}

function objectOf(object: ReadonlyMap<string, CborItem>): ObjectRecord {
  return {
    seq: integerOf(object.get("seq")),
    kind: object.get("kind") === "inline" ? "inline" : "manifest",
    root: parseAddress(textOf(object.get("root"))),
    size: integerOf(object.get("size")),
    etag: textOf(object.get("etag")),
    time: integerOf(object.get("time")),
    checksums: textsOf(object.get("checksums")),
    headers: textsOf(object.get("headers")),
    tags: tagsOf(object.get("tags")),
  };
}

function uploadOf(upload: ReadonlyMap<string, CborItem>): Upload {
  return {
    id: textOf(upload.get("id")),
    seq: integerOf(upload.get("seq")),
    bucket: integerOf(upload.get("bucket")),
    key: bytesOf(upload.get("key")),
    owner: textOf(upload.get("owner")),
    time: integerOf(upload.get("time")),
    headers: textsOf(upload.get("headers")),
    tags: tagsOf(upload.get("tags")),
    options: textsOf(upload.get("options")),
  };
}
