import type { ObjectStoreAccess } from "../../suite.ts";

/** What is compared: a folder of the object store, and names with the same prefix in the gateway. */
export interface Sides {
  readonly direct: ObjectStoreAccess;
  readonly gateway: ObjectStoreAccess;
}
