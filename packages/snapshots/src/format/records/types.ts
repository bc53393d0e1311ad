/** The metadata `type` of the blobs that are not packs. A reader refuses another. */
export const RECORD_TYPES = {
  snapshot: "application/vnd.idk.snapshot",
  reach: "application/vnd.idk.reach",
  keys: "application/vnd.idk.keys",
  head: "application/vnd.idk.head",
} as const;
