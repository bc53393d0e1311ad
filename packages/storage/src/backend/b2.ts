import { usage } from "../errors.ts";
import type { Backend } from "./backend.ts";
import type { RetryOptions } from "./retry.ts";
import { objectBackend } from "./s3/backend.ts";
import { commonPlace, type Encryption, type Place, type PlaceOptions } from "./s3/place.ts";

export type { Encryption, Timeouts } from "./s3/place.ts";

export interface B2Options extends PlaceOptions {
  /** Such as `us-east-005`; or the endpoint, which names it. */
  readonly region?: string | undefined;
  /** Such as `https://s3.us-east-005.backblazeb2.com`. By default that of the region. */
  readonly endpoint?: string | undefined;
  /** Of an application key. The account's master key is not accepted by the S3 interface. */
  readonly keyId: string;
  readonly applicationKey: string;
  /** `AES256` is SSE-B2. There is no key management. */
  readonly encryption?: Exclude<Encryption, { readonly type: "aws:kms" }> | undefined;
}

/**
 * For `withRetry` around this backend. B2 answers 503 in the course of its normal life and may ask
 * for long waits, so that the time alone could be over after a few attempts: it is asked eight
 * times at least, and not again within moments.
 */
export const B2_RETRY: Pick<RetryOptions, "firstDelayMs" | "minAttempts"> = {
  firstDelayMs: 1000,
  minAttempts: 8,
};

/**
 * Keeps each blob as an object `<prefix>/<name>` in a bucket of Backblaze B2, over its S3
 * interface. Its buckets keep versions; deleting removes them all, and overwriting leaves the old
 * one until then.
 *
 * @throws StorageError `usage` where the options are malformed
 */
export function b2(options: B2Options): Backend {
  return objectBackend(b2Place(options));
}

export function b2Place(options: B2Options): Place {
  const { keyId, applicationKey } = options;
  const region = options.region ?? regionIn(options.endpoint);
  if (!/^[a-z0-9-]+$/u.test(region)) throw usage("the region is malformed");
  return {
    provider: "b2",
    ...commonPlace(options, options.endpoint ?? `https://s3.${region}.backblazeb2.com`),
    region,
    pathStyle: true,
    credentials: { accessKeyId: keyId, secretAccessKey: applicationKey },
    // Some of its clusters refuse the header; `capabilities` finds out.
    checksums: false,
    checksumsChecked: false,
    conditionalPut: false,
    versioned: true,
  };
}

/** The region is the second label of the endpoint's host. */
function regionIn(endpoint: string | undefined): string {
  if (endpoint === undefined) throw usage("a B2 backend takes a region or an endpoint");
  const [, region] = /^https:\/\/s3\.([a-z0-9-]+)\.backblazeb2\.com\/?$/u.exec(endpoint) ?? [];
  if (region === undefined) {
    throw usage("the endpoint is not https://s3.REGION.backblazeb2.com, so give its region too");
  }
  return region;
}
