import { type Field, field, optional, path } from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import { parseShard, type Shard } from "./shard.ts";

const shard: Field<Shard | undefined> = optional(field(parseShard));

/** The settings of commands that work on shards. */
export const SHARDING = { shard, report: optional(path) } as const;

/** A shard to work on, and the file of its report. */
export interface Part {
  readonly shard: Shard;
  readonly report: string;
}

/**
 * The shard to work on; undefined for the whole store.
 *
 * @param named whether addresses are given
 * @throws Failure `usage`
 */
export function partOf(
  { shard, report }: { readonly shard: Shard | undefined; readonly report: string | undefined },
  named = false,
): Part | undefined {
  if (shard === undefined) {
    if (report !== undefined)
      throw usage("--report needs --shard I/N, also for a whole store: 1/1");
    return undefined;
  }
  if (report === undefined) {
    throw usage("--shard needs --report FILE, which also records how far it is");
  }
  if (named) throw usage("--shard works on all blobs of its part of the store: omit the addresses");
  return { shard, report };
}
