import type { StoredContent } from "@idk/storage";
import { pMapIterable } from "p-map";
import { addressFault, DIGITS_TO_ACT } from "../blobs/address.ts";
import { usage } from "../errors/failures.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { count, foreign } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import type { Downloaded } from "./download.ts";
import { type Destination, openOutputFolder } from "./output-folder.ts";

/** Contents fetched concurrently. */
const AT_ONCE = 16;

/** The operations that fetch content into its file. */
export interface GetFile {
  /** Completes an address prefix. */
  resolve(prefix: string, signal: AbortSignal): Promise<string>;
  open(address: string, signal: AbortSignal): Promise<StoredContent>;
  /** If the destination is refused, writes nothing, and throws that unless the file has this content. */
  write(content: StoredContent, destination: Destination, meter: Meter): Promise<Downloaded>;
}

export interface GetFilesOptions {
  readonly folder: string;
  /** Whether to name files by the names in their metadata; otherwise by address. */
  readonly names: boolean;
  /** Whether names that are hidden or obeyed by tools are allowed in a folder with other files. */
  readonly keepHidden: boolean;
}

/**
 * Fetches each listed content into a file in the folder. A failed content does not stop the others.
 * An existing file with the right content counts as fetched, so that an interrupted run can be
 * repeated: file names are assigned in the order of the list, and so are the same each time.
 *
 * @param entries addresses or their prefixes, or lines as `idk put` prints them: an address, and
 *   anything after it
 */
export async function getFiles(
  entries: AsyncIterable<string>,
  { folder, names, keepHidden }: GetFilesOptions,
  { resolve, open, write }: GetFile,
  session: Session,
): Promise<void> {
  const { out } = session;
  const target = await openOutputFolder(folder, { names, keepHidden });
  using meter = session.progress.start({ command: "get", noun: "file" });
  const failures = createListFailures(session, "address", "address");
  const seen = new Set<string>();
  const stop = new AbortController();
  const signal = AbortSignal.any([session.signal, stop.signal]);
  let [done, alreadyThere] = [0, 0];
  let anyHidden = false;

  async function* distinct(): AsyncGenerator<string> {
    for await (const entry of entries) {
      const given = /^[0-9a-f]{8,64}(?=\s|$)/u.exec(entry)?.[0] ?? entry;
      // An error here would end the run. The item itself will fail in getOne.
      const address =
        addressFault(given, DIGITS_TO_ACT) === undefined
          ? await resolve(given, signal).catch(() => given)
          : given;
      // With a dedup secret, equal files have one address.
      if (seen.has(address)) continue;
      seen.add(address);
      yield address;
    }
  }
  let lastAssigned = Promise.resolve();
  const getOne = async (given: string): Promise<void> => {
    const assigned = Promise.withResolvers<void>();
    const previous = lastAssigned;
    lastAssigned = previous.then(() => assigned.promise);
    try {
      const fault = addressFault(given, DIGITS_TO_ACT);
      if (fault !== undefined) throw usage(`the address ${fault}`);
      const address = await resolve(given, signal);
      const content = await open(address, signal);
      await previous;
      const destination = await target.destinationFor(address, content.metadata);
      const { path: file, original, refused } = destination;
      assigned.resolve();
      anyHidden ||= destination.hidden;
      if (original !== undefined && refused === undefined && !out.json) {
        await out.note(
          `idk: ${address}: its name is ${foreign(JSON.stringify(original))}, written as ${file}`,
        );
      }
      const written = await write(content, destination, meter);
      done += 1;
      if (written.alreadyThere) alreadyThere += 1;
      await out.report({ ok: true, address, file, ...written });
    } catch (error) {
      await failures.add(given, error);
    } finally {
      assigned.resolve();
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
    // Wait: each download removes its partial file or prints where it is kept.
    stop.abort();
    await Promise.allSettled(inFlight);
    meter.finish();
    if (session.signal.aborted && done > 0 && !out.json) {
      // By then the folder has files, so hidden names have to be allowed.
      const again = anyHidden && !keepHidden ? " with --keep-hidden" : "";
      await out.note(
        `idk: ${count(done, "file")} complete: run the same command again${again} to fetch the others`,
      );
    }
  }
  if (alreadyThere > 0 && !out.json) {
    await out.note(`idk: ${alreadyThere} of ${count(seen.size, "file")} already existed`);
  }
  failures.throwIfAny(seen.size);
}
