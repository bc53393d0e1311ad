import type { S3Client } from "@aws-sdk/client-s3";
import type { BucketConfig } from "../bucket-config.ts";
import { explainMissing } from "../peer-dependencies.ts";
import type { BucketAccess } from "./access.ts";
import { findRegion } from "./region.ts";
import { sdkHandler } from "./sdk-handler.ts";

/** The SDK finds credentials, region and endpoint. Its client is used for provisioning only. */
export interface OpenSdk {
  readonly sdk: typeof import("@aws-sdk/client-s3");
  readonly client: S3Client;
  readonly access: BucketAccess;
}

/** @throws StorageError `usage` if the SDK is not installed; its own errors if it finds no region or endpoint */
export async function openSdk(config: BucketConfig): Promise<OpenSdk> {
  const explain = explainMissing("an object store", ["@aws-sdk/client-s3", "@smithy/core"]);
  const [sdk, { getEndpointFromInstructions }, { buildQueryString }, sources] = await Promise.all([
    import("@aws-sdk/client-s3").catch(explain),
    import("@smithy/core/endpoints").catch(explain),
    import("@smithy/core/protocols").catch(explain),
    import("@smithy/core/config").catch(explain),
  ]);
  const client: S3Client = new sdk.S3Client({
    ...(config.endpoint === undefined ? {} : { endpoint: config.endpoint }),
    region: config.region ?? (async () => findRegion(client.config, sources)),
    ...(config.credentials === undefined ? {} : { credentials: config.credentials as never }),
    forcePathStyle: config.pathStyle,
    // `withRetry` retries.
    maxAttempts: 1,
    // By default the SDK adds checksums that other providers reject.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: sdkHandler(buildQueryString),
  });
  const { config: resolved } = client;
  const { url, properties } = await getEndpointFromInstructions(
    { Bucket: config.bucket },
    sdk.HeadBucketCommand,
    resolved,
  );
  const [scheme] = (properties?.["authSchemes"] ?? []) as { signingRegion?: string }[];
  const access: BucketAccess = {
    url,
    region: scheme?.signingRegion ?? (await resolved.region()),
    isCustomEndpoint: resolved.isCustomEndpoint === true,
    credentials: () => resolved.credentials(),
    close: () => client.destroy(),
  };
  return { sdk, client, access };
}
