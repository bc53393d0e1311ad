import type { StoredBlob } from "@idk/storage";
import { isResumed } from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { formatBytes } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { createOutputFile, type OutputFile } from "./output-file.ts";
import { openPresentFile } from "./present-file.ts";

export interface DownloadOptions {
  readonly address: string;
  readonly force: boolean;
  /** What `--resume` and `--no-resume` say. */
  readonly resume: boolean | undefined;
  /** Only some of the content is wanted. */
  readonly ranged: boolean;
  /** A file that is there and holds the content already is as good as fetched. */
  readonly takePresent?: boolean;
  /** Runs the reading of content that does not come with its root, when its turn has come. */
  readonly largeTurn?: <T>(work: () => Promise<T>) => Promise<T>;
  /** A symbolic link stands for what it leads to; otherwise it is what it is, in the way. */
  readonly follow: boolean;
  /** The file gets the time that the content has inside. */
  readonly keepTime?: boolean;
  readonly meter: Meter;
}

/** Content up to this size comes with its root. */
const INLINE_MAX = 2 ** 20;

export interface Downloaded {
  /** Bytes of content, whatever range was asked for. */
  readonly size: number;
  /** Bytes of the file. */
  readonly written: number;
  /** How many of them an earlier run had fetched; left out where there are none. */
  readonly continued?: number;
  /** The file was there, with this content; left out where it was not. */
  readonly alreadyThere?: true;
}

/**
 * Fetches content into a file, which appears when all of it has been verified. What an earlier run
 * fetched is verified, and not fetched again.
 */
export async function download(
  fetchBlob: () => Promise<StoredBlob>,
  path: string,
  options: DownloadOptions,
  { out }: Session,
): Promise<Downloaded> {
  const { address, force, resume, ranged, takePresent, largeTurn, follow, meter } = options;
  const tell = meter.part();
  const note = async (text: string): Promise<void> => {
    if (!out.json) await out.note(`idk: ${text}`);
  };
  const present = takePresent && !force ? await openPresentFile(path, { follow }) : undefined;
  if (present !== undefined) {
    try {
      const blob = await fetchBlob();
      const compare = () => present.holds(blob, (bytes) => tell({ bytes }));
      const same = await (largeTurn && blob.size > INLINE_MAX ? largeTurn(compare) : compare());
      if (!same) throw usage(`${path} already exists, with other content: --force replaces it`);
      return { size: blob.size, written: 0, alreadyThere: true };
    } finally {
      await present.close();
    }
  }
  // First, for nothing has to be fetched to know that it cannot be written.
  const file = await createOutputFile(path, { force, address, follow });
  let written = 0;
  try {
    const blob = await fetchBlob();
    const encoded = blob.metadata["enc"] !== undefined;
    if (encoded && resume === true) {
      await note(
        "this content is stored encoded, and cannot be continued: it is fetched as a whole",
      );
    }
    const resumed = isResumed(resume, blob.size) && !ranged && !encoded;
    const read = async (): Promise<number> => {
      const start = resumed ? await whatIsThere(file, blob, tell, note) : 0;
      written = start;
      let chunks = 0;
      for await (const piece of blob.chunks({ start })) {
        await file.write(piece);
        written += piece.length;
        if (blob.size > INLINE_MAX) chunks += 1;
        tell({ bytes: written, chunks });
      }
      return start;
    };
    const start = largeTurn && blob.size > INLINE_MAX ? await largeTurn(read) : await read();
    await file.commit(options.keepTime ? timeOf(blob.metadata) : undefined);
    if (resumed || resume === false) await file.clearAway();
    return { size: blob.size, written, ...(start > 0 && { continued: start }) };
  } catch (error) {
    const kept = await file.discard();
    if (kept !== undefined) {
      const done = written > 0 ? `${formatBytes(written)} are verified and kept` : "it is kept";
      await note(`${done} in ${kept}: the same command continues there`);
    }
    throw error;
  }
}

/** Whatever stands there: a date that a file system can have is none of what is promised. */
function timeOf({ mtime }: StoredBlob["metadata"]): Date | undefined {
  return typeof mtime === "number" && mtime <= TIME_MAX ? new Date(mtime) : undefined;
}

/** The end of the year 9999, in milliseconds. */
const TIME_MAX = 253_402_300_799_999;

/** @returns how many bytes of an earlier run are right */
async function whatIsThere(
  file: OutputFile,
  blob: StoredBlob,
  tell: ReturnType<Meter["part"]>,
  note: (text: string) => Promise<void>,
): Promise<number> {
  if ((await file.keep()) === 0) return 0;
  const start = await blob.matchingPrefix(async (offset, into) => {
    const length = await file.read(offset, into);
    tell({ bytes: offset + length });
    return length;
  });
  file.continueAt(start);
  await note(`continued: ${formatBytes(start)} of ${blob.size} were there`);
  return start;
}
