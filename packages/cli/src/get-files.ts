import { reasonOf, usage } from "./failures.ts";
import type { Session } from "./session.ts";
import type { Downloaded } from "./download.ts";
import { createListFailures } from "./item-failures.ts";
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import { pMapIterable } from "p-map";

/** Contents fetched at once. */
const AT_ONCE = 16;

/** Fetches content and writes it to a file. */
export type WriteFile = (address: string, path: string) => Promise<Downloaded>;

/**
 * Fetches what is listed, each into a file of the folder that has its address as its name. What
 * fails does not keep the others from it.
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
      await out.report({ ok: true, address, file, ...(await write(address, file)) });
    } catch (error) {
      await failures.add(address, error);
    }
  };
  const all = pMapIterable(distinct(), getOne, { concurrency: AT_ONCE, preserveOrder: false });
  for await (const _ of all) await out.flush();
  failures.throwIfAny(seen.size);
}

async function makeOutputFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw usage(`cannot create the folder ${path}: ${reasonOf(error)}`, error);
  }
}
