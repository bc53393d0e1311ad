import { reasonOf, usage } from "./failures.ts";
import type { Session } from "./session.ts";
import type { Downloaded } from "./download.ts";
import { count } from "./text.ts";
import { createListFailures } from "./item-failures.ts";
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import { pMapIterable } from "p-map";

/** Contents fetched at once. */
const AT_ONCE = 16;

/** Fetches content and writes it to a file. */
export type WriteFile = (address: string, path: string, signal: AbortSignal) => Promise<Downloaded>;

/**
 * Fetches what is listed, each into a file of the folder that has its address as its name. What
 * fails does not keep the others from it. A file that is there with this content is done, so that what
 * was interrupted can be run again.
 *
 * @param entries addresses, or lines as `idk put` prints them: an address and anything behind it
 */
export async function getFiles(
  entries: AsyncIterable<string>,
  folder: string,
  write: WriteFile,
  session: Session,
): Promise<void> {
  const { out } = session;
  await makeOutputFolder(folder);
  const failures = createListFailures(session, "address", "address");
  const seen = new Set<string>();
  const stop = new AbortController();
  const signal = AbortSignal.any([session.signal, stop.signal]);
  let alreadyThere = 0;

  async function* distinct(): AsyncGenerator<string> {
    for await (const entry of entries) {
      const address = /^[0-9a-f]{64}(?=\s|$)/u.exec(entry)?.[0] ?? entry;
      // With a dedup secret, equal files have one address.
      if (seen.has(address)) continue;
      seen.add(address);
      yield address;
    }
  }
  const getOne = async (address: string): Promise<void> => {
    try {
      if (!/^[0-9a-f]{64}$/u.test(address)) {
        throw usage("not an address: 64 lowercase hexadecimal digits, as `idk put` prints them");
      }
      const file = join(folder, address);
      const done = await write(address, file, signal);
      if (done.alreadyThere) alreadyThere += 1;
      await out.report({ ok: true, address, file, ...done });
    } catch (error) {
      await failures.add(address, error);
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
  }
  if (alreadyThere > 0 && !out.json) {
    await out.note(`idk: ${alreadyThere} of ${count(seen.size, "file")} were there already`);
  }
  failures.throwIfAny(seen.size);
}

async function makeOutputFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw usage(`cannot create the folder ${path}: ${reasonOf(error)}`, error);
  }
}
