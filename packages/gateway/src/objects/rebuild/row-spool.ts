import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
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
  const path = join(folder, "rows");
  const file = createWriteStream(path, { mode: 0o600, flags: "wx" });
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
      yield* decodeRows(createReadStream(path));
    },
    async close() {
      file.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
