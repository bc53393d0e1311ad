import type { BucketConfig, Credentials } from "../bucket-config.ts";

/** Where a bucket is, and who asks for it. */
export interface BucketAccess {
  /** Of the bucket itself. */
  readonly url: URL;
  /** For signatures. */
  readonly region: string;
  /** Whether the endpoint is another than Amazon's default. */
  readonly isCustomEndpoint: boolean;
  /** Or a function that returns them, which is cheap, because it keeps them until they expire. */
  readonly credentials: Credentials | (() => Promise<Credentials>);
  close(): void;
}

/**
 * Names of ordinary buckets. Others are left to the SDK, whose endpoints follow from the name: ARNs of access
 * points, and what ends as directory buckets and Outposts do, such as `--x-s3` and `--op-s3`.
 */
const PLAIN_NAME = /^(?!.*--[a-z]+-s3$)[A-Za-z0-9][A-Za-z0-9._-]*$/u;

/** Amazon also has regions such as `aws-global` and `fips-us-west-2`, which are not what is signed. */
const PLAIN_REGION = /^(?!.*(?:global|fips))(?!-)(?!.*-$)[A-Za-z0-9-]{1,63}$/u;

/**
 * Amazon's endpoints are left to the SDK even if all is given: it knows settings that change one, such as
 * `AWS_USE_FIPS_ENDPOINT`, and refuses them with another server. Its files are not read here, so such a
 * setting in them only counts at Amazon.
 *
 * @returns undefined if something has to be found: an endpoint, a region, credentials other than those of the
 *   environment
 */
export function knownAccess(config: BucketConfig): BucketAccess | undefined {
  const { provider, endpoint, region, pathStyle, bucket } = config;
  if (endpoint === undefined || region === undefined || !pathStyle) return undefined;
  if (provider === "s3" && !isOrdinary(endpoint, region)) return undefined;
  const credentials = config.credentials ?? keysInEnvironment();
  if (credentials === undefined || typeof credentials === "function") return undefined;
  if (!PLAIN_NAME.test(bucket)) return undefined;
  return {
    url: new URL(`/${bucket}`, endpoint),
    region,
    isCustomEndpoint: true,
    credentials,
    close() {},
  };
}

const AMAZON = /\.amazonaws\.com(?:\.cn)?$/u;
const ENDPOINT_SETTINGS = ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"];

function isOrdinary(endpoint: string, region: string): boolean {
  const env = environment();
  if (ENDPOINT_SETTINGS.some((name) => (env[name] || "false") !== "false")) return false;
  return !AMAZON.test(new URL(endpoint).hostname) && PLAIN_REGION.test(region);
}

/** With these, the SDK takes other credentials, or knows when they expire. */
const CREDENTIAL_SETTINGS = ["AWS_PROFILE", "AWS_CREDENTIAL_EXPIRATION"];

/** The first credentials in the SDK's chain, which do not change while the process runs. */
function keysInEnvironment(): Credentials | undefined {
  const env = environment();
  if (CREDENTIAL_SETTINGS.some((name) => env[name])) return undefined;
  const accessKeyId = env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"];
  if (!accessKeyId || !secretAccessKey) return undefined;
  const sessionToken = env["AWS_SESSION_TOKEN"];
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}

function environment(): Readonly<Record<string, string | undefined>> {
  return typeof process === "undefined" ? {} : process.env;
}
