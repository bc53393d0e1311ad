/** An object store for a job in a child process, in its environment: everybody can see arguments. */
import type { ObjectStoreAccess } from "../suite.ts";

const VARIABLE = "IDK_BENCH_CHILD";

export interface ChildStore {
  readonly access: ObjectStoreAccess;
  /** As text, with the secret key. */
  readonly identity: string;
}

/** Environment variables for `runJob`. */
export function childEnv(store: ChildStore): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(store) };
}

/** What the parent passed in `childEnv`. */
export function childStore(): ChildStore {
  const text = process.env[VARIABLE];
  if (text === undefined) throw new Error(`${VARIABLE} is not set: a suite starts this script`);
  return JSON.parse(text) as ChildStore;
}
