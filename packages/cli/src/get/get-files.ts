import type { StoredBlob } from "@idk/storage";
import { pMapIterable } from "p-map";
import { isAddressOrPrefix } from "../blobs/address.ts";
import { usage } from "../errors/failures.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { count } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import type { Downloaded } from "./download.ts";
import { openOutputFolder } from "./output-folder.ts";

/** Contents fetched at once. */
const AT_ONCE = 16;

/** How a content gets into its file. */
export interface GetFile {
  /** Makes an address of its beginning. */
  resolve(prefix: string, signal: AbortSignal): Promise<string>;
  open(address: string, signal: AbortSignal): Promise<StoredBlob>;
  write(blob: StoredBlob, path: string, meter: Meter): Promise<Downloaded>;
}

export interface GetFilesOptions {
  readonly folder: string;
  /** Whether files get the names that contents have inside; otherwise all have addresses. */
  readonly names: boolean;
}

/**
 * Fetches what is listed, each into a file of the folder. What fails does not keep the others from
 * it. A file that is there with this content is done, so that what was interrupted can be run again:
 * places are given in the order of the list, and so the same ones each time.
 *
 * @param entries addresses or beginnings of them, or lines as `idk put` prints them: an address and
 *   anything behind it
 */
export async function getFiles(
  entries: AsyncIterable<string>,
  { folder, names }: GetFilesOptions,
  { resolve, open, write }: GetFile,
  session: Session,
): Promise<void> {
  const { out } = session;
  const target = await openOutputFolder(folder, { names });
  using meter = session.progress.start({ command: "get", noun: "file" });
  const failures = createListFailures(session, "address", "address");
  const seen = new Set<string>();
  const stop = new AbortController();
  const signal = AbortSignal.any([session.signal, stop.signal]);
  let [done, alreadyThere] = [0, 0];

  async function* distinct(): AsyncGenerator<string> {
    for await (const entry of entries) {
      const given = /^[0-9a-f]{8,64}(?=\s|$)/u.exec(entry)?.[0] ?? entry;
      // What is not to be found fails in its turn, and not here, where it would end all.
      const address = isAddressOrPrefix(given)
        ? await resolve(given, signal).catch(() => given)
        : given;
      // With a dedup secret, equal files have one address.
      if (seen.has(address)) continue;
      seen.add(address);
      yield address;
    }
  }
  let lastTurn = Promise.resolve();
  const getOne = async (given: string): Promise<void> => {
    const placed = Promise.withResolvers<void>();
    const turn = lastTurn;
    lastTurn = turn.then(() => placed.promise);
    try {
      if (!isAddressOrPrefix(given)) {
        throw usage(
          "not an address: 64 lowercase hexadecimal digits, as `idk put` prints them, or the first 8",
        );
      }
      const address = await resolve(given, signal);
      const blob = await open(address, signal);
      await turn;
      const { path: file, original } = await target.place(address, blob.metadata);
      placed.resolve();
      if (original !== undefined && !out.json) {
        await out.note(
          `idk: ${address}: its name is ${JSON.stringify(original)}, written as ${file}`,
        );
      }
      const written = await write(blob, file, meter);
      done += 1;
      if (written.alreadyThere) alreadyThere += 1;
      await out.report({ ok: true, address, file, ...written });
    } catch (error) {
      await failures.add(given, error);
    } finally {
      placed.resolve();
      meter.itemDone();
    }
  };
  const inFlight = new Set<Promise<void>>();
  const start = async (address: string): Promise<void> => {
    const getting = getOne(address);
    inFlight.add(getting);
    try {
      await getting;
    } finally {
      inFlight.delete(getting);
    }
  };
  try {
    const all = pMapIterable(distinct(), start, { concurrency: AT_ONCE, preserveOrder: false });
    for await (const _ of all) await out.flush();
  } finally {
    // Each removes what it wrote, or says where it is kept.
    stop.abort();
    await Promise.allSettled(inFlight);
    meter.finish();
    if (session.signal.aborted && done > 0 && !out.json) {
      await out.note(
        `idk: ${count(done, "file")} written whole: the same command goes on with the others`,
      );
    }
  }
  if (alreadyThere > 0 && !out.json) {
    await out.note(`idk: ${alreadyThere} of ${count(seen.size, "file")} were there already`);
  }
  failures.throwIfAny(seen.size);
}
