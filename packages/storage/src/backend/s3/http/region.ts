import type { S3Client } from "@aws-sdk/client-s3";

type Config = typeof import("@smithy/core/config");

/** The region of MinIO, versitygw and others that are not configured with another one. */
const DEFAULT_REGION = "us-east-1";

/**
 * The region for the signatures of a client without one in its options: from the SDK's variables and
 * files. Otherwise, at an endpoint other than Amazon's, the one in its host name, or a default.
 */
export async function findRegion(
  { isCustomEndpoint, endpoint }: Pick<S3Client["config"], "isCustomEndpoint" | "endpoint">,
  { loadConfig, NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS }: Config,
): Promise<string> {
  const host = isCustomEndpoint === true ? (await endpoint?.())?.hostname : undefined;
  const options = {
    ...NODE_REGION_CONFIG_OPTIONS,
    ...(host === undefined ? {} : { default: regionInHost(host) ?? DEFAULT_REGION }),
  };
  return loadConfig(options, NODE_REGION_CONFIG_FILE_OPTIONS)();
}

/** As in s3.eu-central-003.backblazeb2.com, s3.dualstack.us-west-2.amazonaws.com, s3-us-west-2.… */
const REGION_IN_HOST = /(?:^|\.)s3(?:-fips)?[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d+)\./u;

function regionInHost(host: string): string | undefined {
  // Cloudflare R2 has no other.
  if (host.endsWith(".r2.cloudflarestorage.com")) return "auto";
  return REGION_IN_HOST.exec(host)?.[1];
}
