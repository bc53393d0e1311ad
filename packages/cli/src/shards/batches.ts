import { type Backend, type ListedBlob, wrapBackend } from "@idk/storage";

/** What is done between two records of the progress: little enough to be done again. */
const BATCH_BLOBS = 256;
const BATCH_BYTES = 128 * 2 ** 20;

/**
 * The blobs below prefixes whose names follow `after`, in ascending order of names.
 *
 * @param prefixes in ascending order, none the beginning of another
 * @param after a name, or an empty text for all
 */
export async function* blobBatches(
  backend: Backend,
  prefixes: readonly string[],
  after: string,
  signal: AbortSignal,
): AsyncGenerator<ListedBlob[]> {
  let batch: ListedBlob[] = [];
  let bytes = 0;
  for await (const blob of blobsInOrder(backend, prefixes, after, signal)) {
    batch.push(blob);
    bytes += blob.size;
    if (batch.length < BATCH_BLOBS && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

async function* blobsInOrder(
  backend: Backend,
  prefixes: readonly string[],
  after: string,
  signal: AbortSignal,
): AsyncGenerator<ListedBlob> {
  for (const prefix of prefixes) {
    const isBegun = after.startsWith(prefix);
    if (!isBegun && after > prefix) continue;
    if (backend.listAfter === undefined) yield* sorted(backend, prefix, after, signal);
    else if (isBegun) yield* backend.listAfter(prefix, after, { signal });
    else yield* backend.list(prefix, { signal });
  }
}

/** Blobs that a listing without an order is sorted for have a prefix of at least so many digits. */
const SORTED_DIGITS = 2;

/** For a backend that lists in any order: a small part of its names at a time is held and sorted. */
async function* sorted(
  backend: Backend,
  prefix: string,
  after: string,
  signal: AbortSignal,
): AsyncGenerator<ListedBlob> {
  if (prefix.length < SORTED_DIGITS) {
    const longer = Array.from({ length: 16 }, (_, digit) => prefix + digit.toString(16));
    yield* blobsInOrder(backend, longer, after, signal);
    return;
  }
  const blobs: ListedBlob[] = [];
  for await (const blob of backend.list(prefix, { signal })) {
    if (blob.name > after) blobs.push(blob);
  }
  yield* blobs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The backend as if it had only some blobs to list. Requests for single blobs stay as they are.
 *
 * @param blobs returns them as they are at the moment
 */
export function listingOnly(backend: Backend, blobs: () => readonly ListedBlob[]): Backend {
  return wrapBackend(backend, {
    list: (list) =>
      async function* listSome(prefix, options) {
        yield* prefix === "" ? blobs() : list(prefix, options);
      },
  });
}
