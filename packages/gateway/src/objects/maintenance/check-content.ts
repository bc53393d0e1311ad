import { createHash } from "node:crypto";
import { equal } from "@idk/storage/blobs";
import type { OpenedObject, PlacedRoot } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import { decodeManifest } from "../identity/manifest.ts";
import { readContent } from "../read/read.ts";
import { type Inspector, inspectRoot } from "./inspect-root.ts";

const MD5 = /^[0-9a-f]{32}$/u;

/**
 * Reads an object, and compares it with what was sealed and with what the catalog has of it.
 *
 * @returns what is wrong; undefined if nothing is
 * @throws if it cannot be read
 */
export async function contentFaultOf(
  context: ObjectsContext,
  inspector: Inspector,
  { object, contents }: OpenedObject,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { root: address } = object;
  const size = (await context.backend.head(address, { signal }))?.size ?? 0;
  const inspected = await inspectRoot(inspector, { address, size }, signal);
  if (inspected.kind === "unknown") throw inspected.error;
  if (inspected.kind !== "record" || inspected.record.type !== "object") {
    return "its identity root is not authentic";
  }
  const { record, content } = inspected;
  const isSame =
    record.kind === object.kind &&
    record.seq === object.seq &&
    record.bucket === object.bucket &&
    equal(record.key, object.key) &&
    record.etag === object.etag &&
    record.size === object.size;
  if (!isSame) return "its identity root is that of another object";
  const sealed = object.kind === "inline" ? [] : decodeManifest(content).contents;
  if (!isSameContent(sealed, contents)) return "its content is not what its identity root lists";
  const md5 = createHash("md5");
  let length = 0;
  const range = { start: 0, end: object.size };
  for await (const piece of readContent(context, { object, contents }, range, { signal })) {
    md5.update(piece);
    length += piece.length;
  }
  if (length !== object.size) return `it has ${length} bytes, and should have ${object.size}`;
  if (MD5.test(object.etag) && md5.digest("hex") !== object.etag) return "its MD5 is wrong";
  return undefined;
}

function isSameContent(a: readonly PlacedRoot[], b: readonly PlacedRoot[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ address, size, md5, part }, i) => {
      const other = b[i]!;
      return (
        address === other.address && size === other.size && md5 === other.md5 && part === other.part
      );
    })
  );
}
