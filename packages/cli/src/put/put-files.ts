import type { Metadata, PutItem, PutJournal, PutReport, Store } from "@idk/storage";
import pLimit, { type LimitFunction } from "p-limit";
import { REFUSALS_MAX } from "../blobs/run-many.ts";
import { codeOf, EXIT_CODES, Failure } from "../errors/failures.ts";
import { createListFailures } from "../errors/item-failures.ts";
import { openInput } from "../input/input.ts";
import { flushBehind } from "../output/flush-behind.ts";
import { count, formatBytes } from "../output/text.ts";
import type { Totals } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { closeUnfinished, type FilePutOptions, type OpenFileJournal } from "./file-journals.ts";
import type { FileToPut, PutEvents } from "./files-to-put.ts";
import type { OpenPutJournal } from "./put-journal.ts";
import { describeSkipped, plainTable, terminalTable } from "./put-report.ts";

/** Files stored concurrently: most wait for a server that may be far away. */
const AT_ONCE = 64;
/** From this size on, in bytes, a file counts as large. */
const LARGE = 64 * 1024;
/** Large files stored concurrently, because each may take 4 MiB of memory. */
const LARGE_AT_ONCE = 16;

/** How files are stored, each with its own metadata. */
export interface FilesPutOptions extends Omit<FilePutOptions, "metadata"> {
  readonly metadata: (file: FileToPut) => Promise<Metadata>;
  /** Added to each result in JSON. */
  readonly used: object;
  /** Whether the user can list this address by the name of its file, so that few need be printed. */
  readonly isListed: (address: string) => Promise<boolean>;
}

/** The files to store. */
export interface FileSource {
  readonly files: (events: PutEvents) => AsyncIterable<FileToPut>;
  /** Determines the totals; undefined if they cannot be known in advance. */
  readonly measure?: ((signal: AbortSignal) => Promise<Totals>) | undefined;
}

/** A file being stored. */
interface FileItem {
  readonly path: string;
  /** The real path of a file found in a folder. It is not read if its path leads elsewhere by then. */
  readonly real: string | undefined;
  /** What is stored with it, such as its name and date. */
  metadata: Metadata;
  /** Set from opening the file until its result, if it has a journal. */
  journal: OpenPutJournal | undefined;
  /** Ends its turn among the large files. Set from its turn until its result. */
  endTurn?: (() => void) | undefined;
}

/**
 * Stores files concurrently and prints a line for each as it completes; on a terminal, only for the
 * first, if the user can list the others. A failed file does not stop the others. A large file is resumed where an interrupted run
 * stopped.
 */
export async function putFiles(
  opened: Store,
  { files, measure }: FileSource,
  { metadata: metadataOf, used, isListed, ...options }: FilesPutOptions,
  openJournal: OpenFileJournal,
  session: Session,
): Promise<void> {
  const { out } = session;
  using meter = session.progress.start({ command: "put", noun: "file", measure });
  const table = out.terminal && !out.json ? terminalTable(isListed) : plainTable();
  const failures = createListFailures(session, "file", "file");
  const sum = { files: 0, bytes: 0, chunks: 0, skippedChunks: 0, skippedBytes: 0 };
  const add = (report: PutReport): void => {
    sum.files += 1;
    sum.bytes += report.bytes;
    sum.chunks += report.chunks;
    sum.skippedChunks += report.skippedChunks;
    sum.skippedBytes += report.skippedBytes;
  };

  let skippedFiles = 0;
  let alreadyStored = 0;
  let differing = 0;
  const events: PutEvents = {
    async storedBefore(path, difference) {
      alreadyStored += 1;
      if (difference === "") return;
      differing += 1;
      // Without its address: it is not among the files that are stored as they are now.
      await out.report({ changed: true, file: path, reason: difference });
      if (!out.json) {
        await out.note(`idk: warning: ${path} ${difference}: not stored again`);
      }
    },
    async skipped(path, why) {
      skippedFiles += 1;
      await out.report({ skipped: true, file: path, reason: why });
      if (!out.json) await out.note(`idk: skipped: ${path} ${why}`);
    },
    unreadable: async (path, error) => failures.add(path, error),
  };

  const flushing = flushBehind(out);
  const queueLarge = pLimit(LARGE_AT_ONCE);
  const unfinished = new Set<FileItem>();
  const end = async (item: FileItem, error: unknown): Promise<void> => {
    unfinished.delete(item);
    const note = closeUnfinished(item.journal, error);
    if (note !== undefined && !out.json) await out.note(`idk: ${item.path}: ${note}`);
  };

  async function* items(): AsyncGenerator<PutItem<FileItem>> {
    for await (const file of files(events)) {
      const { path, real } = file;
      const item: FileItem = { path, real, metadata: {}, journal: undefined };
      unfinished.add(item);
      const content = contentOf(item, openJournal, queueLarge);
      const metadata = await metadataOf(file);
      item.metadata = metadata;
      const journal = journalOf(item);
      yield { key: item, content, options: { metadata, journal, onProgress: meter.part() } };
    }
  }
  let refusals = 0;
  try {
    for await (const result of opened.putMany(items(), { ...options, concurrency: AT_ONCE })) {
      const item = result.key;
      const file = item.path;
      item.endTurn?.();
      meter.itemDone();
      if (result.ok) {
        const { address, report } = result;
        add(report);
        refusals = 0;
        const { name, mtime } = item.metadata;
        const stored = { address, bytes: report.bytes, path: file };
        const line = await table.add(stored, name !== undefined);
        const dated = mtime !== undefined && { mtime };
        const details = { ok: true, file, address, ...dated, ...report, ...used };
        if (line === undefined) await out.report(details);
        else await out.result(line, details);
        // Soon, because content whose address was never printed cannot be found.
        flushing.start();
        if (item.journal !== undefined) await flushing.settled();
        unfinished.delete(item);
        item.journal?.remove();
        continue;
      }
      await failures.add(file, result.error);
      await end(item, result.error);
      const code = codeOf(result.error);
      refusals = EXIT_CODES[code] === EXIT_CODES.unavailable ? refusals + 1 : 0;
      if (refusals === REFUSALS_MAX) {
        const others =
          table.omitted === 0
            ? "files without an address here are not stored"
            : `\`idk ls --long\` lists the ${count(table.omitted, "file")} stored without an address here`;
        throw new Failure(code, `stopped: the store failed ${refusals} files in a row; ${others}`);
      }
    }
    await flushing.settled();
  } catch (error) {
    // What is stored is printed first. By now no uploads are pending.
    await flushing.settled().catch(() => {});
    for (const item of unfinished) await end(item, error);
    meter.finish();
    await failures.repeat(sum.files + failures.count);
    if (sum.files > 0 && session.signal.aborted && !out.json) {
      const where =
        table.omitted === 0
          ? "with the addresses above; save them to a list and skip these files in the next put with --done LIST"
          : "which `idk ls --long` lists; a put whose output is redirected, > LIST, can be continued with --done LIST";
      await out.note(`idk: ${count(sum.files, "file")} stored, ${where}`);
    }
    throw error;
  }
  meter.finish();
  const all = sum.files + failures.count;
  await failures.repeat(all);
  const changed = differing === 0 ? "" : `, ${differing} of them changed since`;
  const parts = [
    `stored ${count(sum.files, "file")}, ${formatBytes(sum.bytes)}`,
    describeSkipped(sum),
    alreadyStored === 0 ? undefined : `${alreadyStored} already stored${changed}`,
    skippedFiles === 0 ? undefined : `${skippedFiles} skipped`,
    `${failures.count || "none"} failed`,
  ];
  await out.note(parts.filter((part) => part !== undefined).join("; "));
  if (table.omitted > 0) {
    const others = count(table.omitted, "file");
    await out.note(
      `idk: \`idk ls --long\` lists the other ${others} with their addresses; put -v prints all`,
    );
  }
  if (differing > 0 && !out.json) {
    await out.note("idk: to store changed files again, put them without --done");
  }
  failures.throwIfAny(all);
}

/**
 * Opens the file when it is read, so that thousands of files are not open at once. A large one then waits
 * for its turn.
 */
async function* contentOf(
  item: FileItem,
  openJournal: OpenFileJournal,
  queueLarge: LimitFunction,
): AsyncGenerator<Uint8Array> {
  const { content, file } = await openInput(item.path, { real: item.real });
  // The length of a pipe is unknown.
  if ((file?.size ?? LARGE) >= LARGE) await takeTurn(item, queueLarge);
  item.journal = await openJournal(item.path, file);
  yield* content;
}

/** Waits for a turn, which ends with `item.endTurn`. */
async function takeTurn(item: FileItem, queue: LimitFunction): Promise<void> {
  await new Promise<void>((begin) => {
    void queue(async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      item.endTurn = resolve;
      begin();
      await promise;
    });
  });
}

/** Used only after content has been read, and so when the file is open. */
function journalOf(item: FileItem): PutJournal {
  return {
    known: async (index) => item.journal?.known(index),
    stored: async (index, leaf) => item.journal?.stored(index, leaf),
  };
}
