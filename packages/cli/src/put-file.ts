import type { PutOptions, PutReport } from "@idk/storage";
import type { Session } from "./session.ts";
import type { StoreLocation } from "./store-location.ts";
import type { UserFolders } from "./user-folders.ts";
import { codeOf, usage } from "./failures.ts";
import { count } from "./text.ts";
import { describeSkipped } from "./skipped.ts";
import { isResumed } from "./resume.ts";
import { openInput } from "./input.ts";
import { openStore } from "./open-store.ts";

/** How its content is cut and sealed, all of it said. */
type FilePutOptions = Pick<PutOptions, "metadata" | "chunkSize" | "dedupSecret" | "signal"> & {
  readonly recipients: readonly string[];
  readonly padding: "padme" | "none";
  readonly compression: NonNullable<PutOptions["compression"]>;
};

interface PutFileSettings {
  /** What `--resume` and `--no-resume` say. */
  readonly resume: boolean | undefined;
  readonly store: StoreLocation;
  readonly folders: UserFolders;
  /** Threads; undefined leaves it to the library. */
  readonly workers: number | undefined;
}

/** Stores one file, continuing where an interrupted put of it stopped, and prints its address. */
export async function putFile(
  path: string,
  options: FilePutOptions,
  { resume, store, folders, workers }: PutFileSettings,
  session: Session,
): Promise<void> {
  const { out } = session;
  const { recipients, chunkSize, padding, compression, dedupSecret } = options;
  const { content, file } = await openInput(path);
  if (resume === true && file === undefined) {
    throw usage("--resume takes a regular file: what it continues has to be read once more");
  }
  await using opened = await openStore(store, session, { workers });
  // With a dedup secret it is the store that knows what it has.
  const journaled = file !== undefined && dedupSecret === undefined && isResumed(resume, file.size);
  const journal = journaled
    ? await (
        await import("./put-journal.ts")
      ).openPutJournal(
        {
          path,
          file,
          store,
          recipients,
          cut: { chunkSize, padding: padding === "padme", compress: compression },
        },
        folders,
        out,
      )
    : undefined;
  let report: PutReport | undefined;
  try {
    const address = await opened.put(content, {
      ...options,
      journal,
      onReport: (made) => {
        report = made;
      },
    });
    await out.result(address, { address, ...report });
    // Who does not get to see the address asks for it again, and shall not wait as long.
    await out.flush();
  } catch (error) {
    const noted = journal?.count() ?? 0;
    journal?.close();
    // A file that changed is another one the next time.
    if (noted > 0 && codeOf(error) !== "usage" && !out.json) {
      await out.note(`idk: ${count(noted, "chunk")} are stored: the same command continues there`);
    }
    throw error;
  }
  journal?.remove();
  if (out.json || report === undefined) return;
  const { chunks, skippedChunks } = report;
  if (journal === undefined) {
    const skipped = describeSkipped(report);
    if (skipped !== undefined) await out.note(`idk: ${skipped}`);
  } else if (skippedChunks > 0) {
    await out.note(`idk: continued: ${skippedChunks} of ${chunks} chunks were there`);
  }
}
