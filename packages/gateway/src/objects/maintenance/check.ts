import { createHash } from "node:crypto";
import type { Address } from "@idk/storage";
import { equal } from "@idk/storage/blobs";
import type { ExportedRow, PlacedRoot } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import { decodeManifest } from "../identity/manifest.ts";
import type { CheckOptions, CheckReport, ObjectFault } from "../objects.ts";
import { readContent, requireIdentity } from "../read/read.ts";
import { createAddressSet } from "./address-set.ts";
import { type Inspector, inspectRoot } from "./inspect-root.ts";

const FAULTS_MAX = 1000;
const MD5 = /^[0-9a-f]{32}$/u;

type ObjectRow = Extract<ExportedRow, { type: "object" }>;

/**
 * Checks that the roots of every object exist, not what is below them: one listing, and nothing is read. With `deep`, reads every
 * object, and checks its identity, the list of its content and its MD5. Objects that are replaced meanwhile do not count.
 */
export async function checkObjects(
  context: ObjectsContext,
  inspector: Inspector,
  { deep = false, signal }: CheckOptions = {},
): Promise<CheckReport> {
  const { backend, catalog } = context;
  if (deep) requireIdentity(context, "read");
  const faults: ObjectFault[] = [];
  let faultCount = 0;
  let objects = 0;
  const sizes = createAddressSet();
  const buckets = new Map<number, string>();
  for await (const { name } of backend.list("", { signal })) sizes.add(name);

  // It may have been stored after the listing.
  const isMissing = async (address: Address): Promise<boolean> =>
    !sizes.has(address) && (await backend.head(address, { signal })) === undefined;
  const faultOf = async ({ object, contents }: ObjectRow): Promise<string | undefined> => {
    if (await isMissing(object.root)) return "its identity root is missing";
    const missing: ObjectRow["contents"][number][] = [];
    for (const root of contents) if (await isMissing(root.address)) missing.push(root);
    if (missing.length > 0) {
      return `${missing.length} of its content roots are missing, the first is ${missing[0]!.address}`;
    }
    return deep ? deepFaultOf(context, inspector, { object, contents }, signal) : undefined;
  };

  for await (const row of catalog.exportRows()) {
    signal?.throwIfAborted();
    if (row.type === "bucket") buckets.set(row.bucket.id, row.bucket.name);
    if (row.type !== "object") continue;
    objects += 1;
    const message = await faultOf(row);
    if (message === undefined) continue;
    const { bucket, key, root, seq } = row.object;
    if ((await catalog.findObject(bucket, key))?.seq !== seq) continue;
    faultCount += 1;
    if (faults.length === FAULTS_MAX) continue;
    faults.push({ bucket: buckets.get(bucket) ?? String(bucket), key, address: root, message });
  }
  return { objects, faults, faultCount };
}

async function deepFaultOf(
  context: ObjectsContext,
  inspector: Inspector,
  { object, contents }: Pick<ObjectRow, "object" | "contents">,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { root: address } = object;
  const size = (await context.backend.head(address, { signal }))?.size ?? 0;
  const inspected = await inspectRoot(inspector, { address, size }, signal);
  if (inspected.kind === "unknown") return inspected.error.message;
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
  try {
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
  } catch (error) {
    signal?.throwIfAborted();
    return error instanceof Error ? error.message : String(error);
  }
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
