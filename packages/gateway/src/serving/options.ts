import type { DigestThreads } from "../body/threads.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { IsTrusted } from "../http/forwarded.ts";
import type { Metrics } from "../http/metrics.ts";
import type { ListenOptions } from "../http/server.ts";
import type { Budget } from "../objects/memory/budget.ts";
import type { Objects } from "../objects/objects.ts";

/** What a gateway serves, and how. */
export interface GatewayOptions {
  readonly catalog: Catalog;
  readonly objects: Objects;
  /** The keys that count now: read for each request, so that they can be replaced. */
  readonly credentials: () => Credentials;
  readonly listen: ListenOptions;
  /**
   * The region of all buckets, and the only one that signatures may be for. Without it, new buckets are in
   * `us-east-1` unless they name another, and signatures may be for any region.
   */
  readonly region?: string | undefined;
  /** Addresses and networks of proxies whose word about their clients counts. By default none. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Whether URLs that are presigned by V2 are accepted, as boto3 makes them. By default true. */
  readonly presignedV2?: boolean | undefined;
  /** Buckets are also subdomains of it. */
  readonly domain?: string | undefined;
  /** True if clients may change nothing. */
  readonly isReadOnly?: boolean | undefined;
  /** Counts requests to the store, if given; shown with the gateway's own. */
  readonly metrics?: Metrics | undefined;
  /** Rejects if the store does not respond. Asked by `/readyz`. */
  readonly checkStore: () => Promise<void>;
  /** What there is to do before clients can be served, as they are told; undefined once it is done. */
  readonly starting?: (() => string | undefined) | undefined;
  /** Threads for digests of large bodies; 0 for none. By default one less than cores, from 1 to 4. */
  readonly digestThreads?: number | undefined;
  /** Takes a line of the access log: JSON, without a newline, without secrets. */
  readonly log?: ((line: string) => void) | undefined;
}

/** What all requests share. */
export interface Context {
  readonly options: GatewayOptions;
  readonly metrics: Metrics;
  readonly threads: DigestThreads | undefined;
  readonly documents: Budget;
  readonly isTrusted: IsTrusted;
  readonly log: (line: string) => void;
  /** Rejects if the catalog or the store does not respond. */
  readonly ready: () => Promise<void>;
  readonly metricsText: () => Promise<string>;
}
