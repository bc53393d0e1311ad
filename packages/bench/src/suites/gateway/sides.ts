import type { ObjectStoreAccess } from "../../suite.ts";

/** What is compared: a folder of the object store, and names with the same prefix in the gateway. */
export interface Sides {
  readonly direct: ObjectStoreAccess;
  readonly gateway: ObjectStoreAccess;
  /** The process of the gateway. */
  readonly pid: number;
}

/** Of a comparison. */
export const ROUNDS = 5;
/** Rounds are added up to eight: a pull request waits for the suite, which has a minute. */
export const BUDGET = 1.6;
