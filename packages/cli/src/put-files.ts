import type { PutItem, PutManyOptions, PutReport, Store } from "@idk/storage";
import { count, printable } from "./text.ts";
import { createListFailures } from "./item-failures.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { Failure, codeOf } from "./failures.ts";
import type { Session } from "./session.ts";
import { describeSkipped } from "./skipped.ts";
import { formatBytes } from "./sizes.ts";
import { openInput } from "./input.ts";

/** Files in flight at once, and failures of the store in a row after which it is given up. */
const AT_ONCE = 16;

export interface PutFilesOptions extends PutManyOptions {
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Stores many files and prints a line for each, in the order in which they get done. A file that
 * cannot be read or stored does not keep the others from it.
 */
export async function putFiles(
  opened: Store,
  paths: AsyncIterable<string>,
  { metadata, ...options }: PutFilesOptions,
  session: Session,
): Promise<void> {
  const { out } = session;
  const failures = createListFailures(session, "file", "file");
  const sum = { files: 0, bytes: 0, chunks: 0, skippedChunks: 0, skippedBytes: 0 };
  const add = (report: PutReport): void => {
    sum.files += 1;
    sum.bytes += report.bytes;
    sum.chunks += report.chunks;
    sum.skippedChunks += report.skippedChunks;
    sum.skippedBytes += report.skippedBytes;
  };

  async function* items(): AsyncGenerator<PutItem<string>> {
    for await (const path of paths) {
      yield { key: path, content: contentOf(path), options: { metadata } };
    }
  }
  let refusals = 0;
  for await (const result of opened.putMany(items(), { ...options, concurrency: AT_ONCE })) {
    const file = result.key;
    if (result.ok) {
      const { address, report } = result;
      add(report);
      refusals = 0;
      await out.result(`${address}  ${printable(file)}`, { ok: true, file, address, ...report });
      // At once: nobody finds what is stored under an address that was never printed.
      await out.flush();
      continue;
    }
    await failures.add(file, result.error);
    const code = codeOf(result.error);
    refusals = EXIT_CODES[code] === EXIT_CODES.unavailable ? refusals + 1 : 0;
    if (refusals === AT_ONCE) {
      throw new Failure(
        code,
        `gave up: the store failed ${refusals} files in a row; what has no address here is not stored`,
      );
    }
  }
  const skipped = describeSkipped(sum);
  await out.note(
    `stored ${count(sum.files, "file")}, ${formatBytes(sum.bytes)}` +
      `${skipped === undefined ? "" : `; ${skipped}`}; ${failures.count || "no"} failed`,
  );
  failures.throwIfAny(sum.files + failures.count);
}

/** Opened when it is its turn, so that thousands of files are not open at once. */
async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  yield* (await openInput(path)).content;
}
