/** The requests a second that providers document: docs/benchmarks.md has the sources. */

export interface Provider {
  readonly name: string;
  /** Requests a second that read: GET, HEAD and LIST. */
  readonly reads: number;
  /** Requests a second that write. */
  readonly writes: number;
  /** Whether each shard has these rates for itself, instead of sharing them. */
  readonly perShard: boolean;
}

/** S3, for each partition of names. It makes more of them while the load lasts, by prefixes of names. */
const S3 = { reads: 5500, writes: 3500 } as const;

export const PROVIDERS: readonly Provider[] = [
  { name: "Backblaze B2, a new account", reads: 500, writes: 500, perShard: false },
  { name: "Google Cloud Storage, a new bucket", reads: 5000, writes: 1000, perShard: false },
  { name: "S3, one partition", ...S3, perShard: false },
  { name: "S3, a partition for each shard", ...S3, perShard: true },
];
