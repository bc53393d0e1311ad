import type { StoredContent } from "@idk/storage";
import pLimit from "p-limit";
import type { Listed } from "../blobs/address-list.ts";
import { createTurns, nameOfListed, runMany, type Turn } from "../blobs/run-many.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { count, foreign } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import type { Downloaded } from "./download.ts";
import { type Destination, openOutputFolder } from "./output-folder.ts";
import { LARGE, type SmallFiles, TAKEN_MAX } from "./small-files/small-files.ts";

/** Contents fetched concurrently: most wait for a server that may be far away. */
const AT_ONCE = 64;
/** Contents fetched concurrently while they are large, because each may take 2 MiB of memory. */
const LARGE_AT_ONCE = 16;

/** The operations that fetch content into its file. */
export interface GetFile {
  open(address: string, signal: AbortSignal): Promise<StoredContent>;
  /** If the destination is refused, writes nothing, and throws that unless the file has this content. */
  write(content: StoredContent, destination: Destination, meter: Meter): Promise<Downloaded>;
  /** Creates what it can of small contents; `write` does the others. */
  readonly smallFiles?: SmallFiles | undefined;
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
 * @param findEntries called before anything is fetched, with the folder checked; may have progress of
 *   its own
 */
export async function getFiles(
  findEntries: () => Promise<AsyncIterable<Listed>>,
  { folder, names, keepHidden }: GetFilesOptions,
  { open, write, smallFiles }: GetFile,
  session: Session,
): Promise<void> {
  const { out } = session;
  const target = await openOutputFolder(folder, { names, keepHidden });
  const entries = await findEntries();
  using meter = session.progress.start({ command: "get", noun: "file" });
  const failures = createListFailures(session, "address", "address");
  let [done, alreadyThere] = [0, 0];
  let anyHidden = false;

  // Names are assigned in the order of the list.
  const nextTurn = createTurns();
  // Sizes are not known in advance, so the limit follows the content that arrived last.
  const queue = pLimit(LARGE_AT_ONCE);
  const openInTurn = async ({ address, error }: Listed, turn: Turn, signal: AbortSignal) => {
    try {
      if (address === undefined) throw error;
      const content = await open(address, signal);
      queue.concurrency = content.size < LARGE ? AT_ONCE : LARGE_AT_ONCE;
      await turn.mine;
      const destination = await target.destinationFor(address, content.metadata);
      return { content, destination };
    } finally {
      turn.end();
    }
  };
  const writeOne = async (content: StoredContent, destination: Destination) => {
    const { path: file, original, refused, hidden } = destination;
    anyHidden ||= hidden;
    if (original !== undefined && refused === undefined && !out.json) {
      await out.note(
        `idk: ${content.address}: its name is ${foreign(JSON.stringify(original))}, written as ${file}`,
      );
    }
    const taken = await smallFiles?.take(content, destination);
    if (taken === undefined) return { downloaded: await write(content, destination, meter) };
    const later = async (): Promise<Downloaded> => {
      const downloaded = await taken.downloaded;
      if (downloaded === undefined) return queue(() => write(content, destination, meter));
      meter.part()({ bytes: downloaded.size, chunks: 0 });
      return downloaded;
    };
    return { later };
  };
  const getOne = async (listed: Listed, signal: AbortSignal): Promise<void> => {
    const turn = nextTurn();
    // What is written later makes room in the queue for the next.
    const { address, file, downloaded, later } = await queue(async () => {
      const { content, destination } = await openInTurn(listed, turn, signal);
      const { address } = content;
      return { address, file: destination.path, ...(await writeOne(content, destination)) };
    });
    const written = downloaded ?? (await later());
    done += 1;
    if (written.alreadyThere) alreadyThere += 1;
    await out.report({ ok: true, address, file, ...written });
  };
  try {
    const options = {
      concurrency: AT_ONCE + (smallFiles === undefined ? 0 : TAKEN_MAX),
      failures,
      nameOf: nameOfListed,
      onDone: () => meter.itemDone(),
    };
    await runMany(entries, getOne, options, session);
  } finally {
    meter.finish();
    if (session.signal.aborted && done > 0 && !out.json) {
      // By then the folder has files, so hidden names have to be allowed.
      const again = anyHidden && !keepHidden ? " with --keep-hidden" : "";
      await out.note(
        `idk: ${count(done, "file")} complete: run the same command again${again} to fetch the others`,
      );
    }
  }
  const all = done + failures.count;
  if (alreadyThere > 0 && !out.json) {
    await out.note(`idk: ${alreadyThere} of ${count(all, "file")} already existed`);
  }
  await failures.repeat(all);
  failures.throwIfAny(all);
}
