import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import type { ExportedRow } from "../../catalog/records.ts";
import { decodeRows, encodeRow } from "../maintenance/rows.ts";

/** Rows in a file, because there may be more than memory holds. */
export interface RowSpool {
  add(row: ExportedRow): Promise<void>;
  /** All rows, in the order in which they were added; any number of times, after the last `add`. */
  rows(): AsyncIterable<ExportedRow>;
  /** Deletes the file. */
  close(): Promise<void>;
}

/** The file is in a folder of its own, for this user alone: it has names and sizes. */
export async function createRowSpool(parent: string = tmpdir()): Promise<RowSpool> {
  const folder = await mkdtemp(join(parent, "idk-rebuild-"));
  const remove = async (): Promise<void> => rm(folder, { recursive: true, force: true });
  const handle = await open(join(folder, "rows"), "wx+", 0o600).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  // So that nothing is left of it if the process is killed; Windows cannot do that while it is open.
  await remove().catch(() => {});
  const file = handle.createWriteStream({ autoClose: false });
  let failure: Error | undefined;
  file.on("error", (error) => {
    failure = error;
  });
  let ended: Promise<void> | undefined;
  return {
    async add(row) {
      if (failure) throw failure;
      if (!file.write(encodeRow(row))) await once(file, "drain");
    },
    async *rows() {
      // The callback of `end` also gets errors: a row that was not written must not pass for the end.
      ended ??= new Promise<void>((resolve, reject) => {
        file.end((error?: Error | null) => (error ? reject(error) : resolve()));
      });
      await ended;
      if (failure) throw failure;
      yield* decodeRows(piecesOf(handle));
    },
    async close() {
      file.destroy();
      await handle.close();
      await remove();
    },
  };
}

const PIECE_LENGTH = 64 * 1024;

async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ;) {
    const { bytesRead, buffer } = await file.read(new Uint8Array(PIECE_LENGTH), { position: at });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
