import type { Address } from "@idk/storage";
import { pMapIterable } from "p-map";
import type { ExportedRow } from "../../catalog/records.ts";
import type { ObjectsContext } from "../context.ts";
import type {
  CheckOptions,
  CheckReport,
  ObjectFault,
  ObjectPlace,
  StoreShard,
} from "../objects.ts";
import { requireIdentity } from "../read/read.ts";
import { createAddressSet } from "./address-set.ts";
import { contentFaultOf } from "./check-content.ts";
import { type Inspector, mayPass } from "./inspect-root.ts";

/** Objects read at once. */
const AT_ONCE = 4;
const FAULTS_MAX = 1000;
const WHOLE: StoreShard = { prefixes: [""], has: () => true };

type ObjectRow = Extract<ExportedRow, { type: "object" }>;

/** What is wrong, and the root that decides which part reports it. */
interface Found {
  readonly message: string;
  readonly root: Address;
}

/**
 * Checks that the roots of every object exist, not what is below them: one listing, and nothing is read. With `deep`, reads every
 * object, and checks its identity, the list of its content and its MD5. Objects that are replaced meanwhile do not count.
 *
 * A part of the store answers for the roots in it: only if one of them is missing, the store is asked for the object's other
 * roots, so that one part reports the object. With `deep`, it answers for the objects whose identity root is in it.
 *
 * @throws StorageError if the store cannot answer, or refuses to; with `deep` only of a part, which a later run continues: the report of the
 *   whole names the object instead
 */
export async function checkObjects(
  context: ObjectsContext,
  inspector: Inspector,
  options: CheckOptions = {},
): Promise<CheckReport> {
  const { backend, catalog } = context;
  const { deep = false, shard = WHOLE, after, onFault, onChecked } = options;
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, ...(options.signal ? [options.signal] : [])]);
  if (deep) requireIdentity(context, "read");
  const faults: ObjectFault[] = [];
  const counted = { objects: 0, faultCount: 0, reportedElsewhere: 0 };
  const listed = createAddressSet();
  const buckets = new Map<number, string>();
  for (const prefix of shard.prefixes) {
    for await (const { name } of backend.list(prefix, { signal })) listed.add(name);
  }

  // It may have been stored after the listing, or be in another part.
  const isMissing = async (address: Address): Promise<boolean> =>
    !listed.has(address) && (await backend.head(address, { signal })) === undefined;
  const missingOf = async (roots: readonly Address[]): Promise<Address[]> => {
    const missing: Address[] = [];
    for (const address of roots) if (await isMissing(address)) missing.push(address);
    return missing;
  };
  const lacking = async ({ object, contents }: ObjectRow): Promise<Found | undefined> => {
    const { root } = object;
    if (await isMissing(root)) return { root, message: "its identity root is missing" };
    const missing = await missingOf(contents.map(({ address }) => address));
    const [first] = missing;
    if (first === undefined) return undefined;
    const message = `${missing.length} of its content roots are missing, the first is ${first}`;
    return { root: first, message };
  };
  const faultOf = async (row: ObjectRow): Promise<Found | undefined> => {
    const { object, contents } = row;
    const { root } = object;
    if (!deep) {
      const own = [root, ...contents.map(({ address }) => address)].filter((address) =>
        shard.has(address),
      );
      return (await missingOf(own)).length === 0 ? undefined : lacking(row);
    }
    const message =
      (await lacking(row))?.message ??
      (await contentFaultOf(context, inspector, row, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        // The report of a part would keep it as a fault of the object.
        if (options.shard !== undefined && mayPass(error)) throw error;
        return error instanceof Error ? error.message : String(error);
      }));
    return message === undefined ? undefined : { root, message };
  };
  const isOurs = ({ object, contents }: ObjectRow): boolean =>
    shard.has(object.root) || (!deep && contents.some(({ address }) => shard.has(address)));

  async function* rows(): AsyncGenerator<ObjectRow> {
    for await (const row of catalog.exportRows()) {
      signal.throwIfAborted();
      if (row.type === "bucket") buckets.set(row.bucket.id, row.bucket.name);
      if (row.type === "object" && isOurs(row) && !isUpTo(row.object, after)) yield row;
    }
  }
  const inFlight = new Set<Promise<unknown>>();
  const check = async (row: ObjectRow) => {
    const checking = faultOf(row);
    inFlight.add(checking);
    const found = await checking;
    inFlight.delete(checking);
    return { object: row.object, found };
  };
  // In order, because a run that is continued begins after the last object.
  const objects = rows();
  const checked = pMapIterable(objects, check, { concurrency: AT_ONCE });
  try {
    for await (const { object, found } of checked) {
      const { bucket, key, root, seq } = object;
      if (shard.has(root)) counted.objects += 1;
      if (found !== undefined && (await catalog.findObject(bucket, key))?.seq === seq) {
        if (shard.has(found.root)) {
          const { message } = found;
          const fault = {
            bucket: buckets.get(bucket) ?? String(bucket),
            key,
            address: root,
            message,
          };
          counted.faultCount += 1;
          if (faults.length < FAULTS_MAX) faults.push(fault);
          await onFault?.(fault);
        } else counted.reportedElsewhere += 1;
      }
      await onChecked?.({ bucket, key }, { ...counted });
    }
  } finally {
    // Nothing is being read once this has failed.
    ending.abort();
    await Promise.allSettled(inFlight);
    await objects.return(undefined);
  }
  return { ...counted, faults };
}

function isUpTo({ bucket, key }: ObjectPlace, place: ObjectPlace | undefined): boolean {
  if (place === undefined || bucket > place.bucket) return false;
  return bucket < place.bucket || Buffer.compare(key, place.key) <= 0;
}
