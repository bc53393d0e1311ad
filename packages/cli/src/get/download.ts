import type { StoredContent } from "@idk/storage";
import { isResumed } from "../config/settings.ts";
import { type Failure, usage } from "../errors/failures.ts";
import { formatBytes } from "../output/text.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { createOutputFile, type OutputFile } from "./output-file.ts";
import { openExistingFile } from "./existing-file.ts";
import type { HeldFolder } from "./held-folders.ts";

export interface DownloadOptions {
  readonly address: string;
  readonly force: boolean;
  /** The value of `--resume` and `--no-resume`. */
  readonly resume: boolean | undefined;
  /** The length of what is requested of content of a size; by default all of it is. */
  readonly lengthOf?: ((size: number) => number) | undefined;
  /** Make sure that the content is on the disk before the file appears; by default true. */
  readonly sync?: boolean | undefined;
  /** Accept an existing file that already has this content. */
  readonly acceptExisting?: boolean;
  /** If given, nothing is written: it is thrown unless the file exists with this content. */
  readonly refused?: Failure | undefined;
  /** Holds the folder of the file, if it must not have been replaced since. */
  readonly hold?: (() => HeldFolder) | undefined;
  /** Limits the concurrent reads of content that is not inline in its root. */
  readonly budget?: ByteBudget;
  /** Follow a symbolic link; otherwise it counts as an existing file. */
  readonly follow: boolean;
  /** Set the modification time from the metadata. */
  readonly keepTime?: boolean;
  readonly meter: Meter;
}

/** Content up to this size is inline in its root. */
const INLINE_MAX = 2 ** 20;

export interface Downloaded {
  /** Length of the whole content in bytes. */
  readonly size: number;
  /** Bytes written to the file. */
  readonly written: number;
  /** Bytes fetched by an earlier run; absent if there are none. */
  readonly continued?: number;
  /** The file existed with this content; absent otherwise. */
  readonly alreadyThere?: true;
}

/**
 * Fetches content into a file, which appears when all of it has been verified. Bytes from an earlier
 * run are verified and not fetched again.
 */
export async function download(
  fetchContent: () => Promise<StoredContent>,
  path: string,
  options: DownloadOptions,
  { out }: Session,
): Promise<Downloaded> {
  const { address, force, resume, acceptExisting, refused, budget, follow, meter } = options;
  const { lengthOf, sync = true } = options;
  const update = meter.part();
  const note = async (text: string): Promise<void> => {
    if (!out.json) await out.note(`idk: ${text}`);
  };
  const compared = refused !== undefined || (acceptExisting && !force);
  const existing = compared ? await openExistingFile(path, { follow }) : undefined;
  if (existing !== undefined) {
    try {
      const content = await fetchContent();
      const compare = () => existing.matches(content, (bytes) => update({ bytes }));
      const same = await (budget && content.size > INLINE_MAX
        ? budget.run(content.size, compare)
        : compare());
      if (!same) {
        throw (
          refused ??
          usage(`${path} already exists with different content; use --force to replace it`)
        );
      }
      return { size: content.size, written: 0, alreadyThere: true };
    } finally {
      await existing.close();
    }
  }
  if (refused !== undefined) throw refused;
  // Before fetching anything, to fail early if the file cannot be written.
  const { hold } = options;
  const file = await createOutputFile(path, { force, address, follow, hold, sync });
  let written = 0;
  try {
    const content = await fetchContent();
    const encoded = content.metadata["enc"] !== undefined;
    if (encoded && resume === true) {
      await note("this content is stored compressed and cannot be resumed: fetching all of it");
    }
    const resumed = isResumed(resume, content.size) && !lengthOf && !encoded;
    const length = lengthOf?.(content.size) ?? content.size;
    const read = async (left?: (bytes: number) => void): Promise<number> => {
      const earlier = resumed ? await file.keep() : 0;
      // Before any chunk is fetched.
      if (length > INLINE_MAX) await file.reserve(length, encoded);
      const start = earlier > 0 ? await resumeOffset(file, content, update, note) : 0;
      written = start;
      let chunks = 0;
      for await (const piece of content.chunks({ start })) {
        await file.write(piece);
        written += piece.length;
        left?.(length - written);
        if (content.size > INLINE_MAX) chunks += 1;
        update({ bytes: written, chunks });
      }
      return start;
    };
    const start = await (budget && content.size > INLINE_MAX ? budget.run(length, read) : read());
    const time = options.keepTime ? timeOf(content.metadata) : undefined;
    await file.commit({ time, removeEarlier: resumed || resume === false });
    return { size: content.size, written, ...(start > 0 && { continued: start }) };
  } catch (error) {
    const kept = await file.discard();
    if (kept !== undefined) {
      const done = written > 0 ? `${formatBytes(written)} verified and kept` : "kept";
      await note(`${done} in ${kept}: run the same command again to resume`);
    }
    throw error;
  }
}

/** The modification time of its file. Metadata is whatever the sender wrote: ignore times that a file cannot have. */
export function timeOf({ mtime }: StoredContent["metadata"]): Date | undefined {
  return typeof mtime === "number" && mtime <= TIME_MAX ? new Date(mtime) : undefined;
}

/** The end of the year 9999, in milliseconds. */
const TIME_MAX = 253_402_300_799_999;

/** @returns the number of valid bytes from an earlier run */
async function resumeOffset(
  file: OutputFile,
  content: StoredContent,
  update: ReturnType<Meter["part"]>,
  note: (text: string) => Promise<void>,
): Promise<number> {
  const start = await content.matchingPrefix(async (offset, into) => {
    const length = await file.read(offset, into);
    update({ bytes: offset + length });
    return length;
  });
  file.continueAt(start);
  await note(`resumed: ${formatBytes(start)} of ${content.size} already fetched`);
  return start;
}
