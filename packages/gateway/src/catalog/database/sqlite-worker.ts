/** What runs in the thread that writes to a catalog in SQLite. */
import { failure, type Job, openWriter, type Outcome, type Writer } from "./sqlite-writer.ts";

/** Of this thread, which serves one catalog. A thread that takes the place of one that died opens it again. */
let writer: Promise<Writer> | undefined;

/** Jobs for the catalog in a file. */
export interface Group {
  readonly path: string;
  readonly jobs: readonly Job[];
}

/** Opens the catalog first, if it is not open yet. If that fails, there is one outcome. */
export async function runGroup({ path, jobs }: Group): Promise<readonly Outcome[]> {
  try {
    writer ??= openWriter(path);
    return await (await writer).run(jobs);
  } catch (error) {
    writer = undefined;
    return [failure(error)];
  }
}

export async function close(): Promise<void> {
  await (await writer)?.close();
}
