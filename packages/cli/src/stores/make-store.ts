import type { StoreLocation } from "@idk/storage/url";
import { codeOf, reportOf } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import type { Session } from "../session.ts";
import { bucketOptions } from "./open-store.ts";

/** `named` is a bucket that could neither be found nor made, for a reason safe to print. */
export type MadeStore =
  | { readonly state: "made" | "there" }
  | { readonly state: "named"; readonly reason: string };

/**
 * Makes the folder or the bucket of a store, unless it is there. A bucket that cannot be made is
 * told, not thrown: the server may be down, and who only writes may not ask for buckets.
 *
 * @throws an error with the code `usage` for a store that there can never be, such as by its name
 */
export async function makeStore(location: StoreLocation, session: Session): Promise<MadeStore> {
  if (location.kind === "filesystem") {
    return { state: (await createFolder(location.folder)) ? "made" : "there" };
  }
  const { signal } = session;
  try {
    const { initBucket } = await import("@idk/storage/provision");
    // Somebody is waiting, and everything else is made already: once has to do.
    const retry = { budgetMs: 0, minAttempts: 1 };
    const options = await bucketOptions(location, session);
    const { made } = await initBucket(options, {}, { signal, retry });
    return { state: made.includes("bucket") ? "made" : "there" };
  } catch (error) {
    if (signal.aborted || codeOf(error) === "usage") throw error;
    return { state: "named", reason: reportOf(error, signal).message };
  }
}
