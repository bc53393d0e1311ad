import type { Upload } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import type { ObjectsContext } from "../context.ts";
import { noUpload } from "./put-part.ts";

/** How often to stop Completes that begin meanwhile. */
const ATTEMPTS = 5;

/**
 * Deletes an upload; see `Objects.abortUpload`. A Complete that failed may have left its manifest in the
 * store, and a rebuild would make it an object: it is declared void before the client is told.
 */
export async function abortUpload(
  { catalog, run, voidWrites, now, collectSoon }: ObjectsContext,
  upload: Upload,
): Promise<void> {
  await run.ready();
  const { bucket, key } = upload;
  let stopped: readonly number[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const aborted = await catalog.abortUpload(upload, now(), stopped);
    if (aborted === false) throw noUpload(upload);
    if (aborted === true) {
      collectSoon();
      return;
    }
    stopped = await catalog.stopCompletes(upload);
    await voidWrites(stopped.map((seq) => ({ bucket, key, seq, isVoid: true })));
  }
  throw new S3Error("OperationAborted");
}
