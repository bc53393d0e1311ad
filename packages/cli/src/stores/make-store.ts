import type { StoreLocation } from "@idk/storage/url";
import { codeOf, reportOf } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import type { Session } from "../session.ts";
import { bucketOptions } from "./open-store.ts";

/** `named`: the bucket could neither be found nor created; the reason is safe to print. */
export type MadeStore =
  | { readonly state: "made" | "there" }
  | { readonly state: "named"; readonly reason: string };

/**
 * Creates the folder or bucket of a store if it does not exist. Reports rather than throws if a
 * bucket cannot be created: the server may be down, and write-only credentials may not list buckets.
 *
 * @throws an error with the code `usage` if the store can never exist, for example for its name
 */
export async function makeStore(location: StoreLocation, session: Session): Promise<MadeStore> {
  if (location.kind === "filesystem") {
    return { state: (await createFolder(location.folder)) ? "made" : "there" };
  }
  const { signal } = session;
  try {
    const { initBucket } = await import("@idk/storage/provision");
    // Do not retry, because the user is waiting and everything else is done.
    const retry = { budgetMs: 0, minAttempts: 1 };
    const options = await bucketOptions(location, session);
    const { made } = await initBucket(options, {}, { signal, retry });
    return { state: made.includes("bucket") ? "made" : "there" };
  } catch (error) {
    if (signal.aborted || codeOf(error) === "usage") throw error;
    return { state: "named", reason: reportOf(error, signal).message };
  }
}
