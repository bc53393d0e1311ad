import { afterAll, beforeAll } from "bun:test";
import {
  httpProxy,
  type ProxyRules,
  type HttpProxy,
  type ProxiedRequest,
} from "../../../../../tests/servers/http-proxy.ts";
import {
  type Bucket,
  minioServer,
  newBucket,
  REGION,
  type S3Server,
} from "../../../../../tests/servers/s3-servers.ts";
import { s3, s3Config, type S3Options, type Timeouts } from "../../../src/backend/s3.ts";
import { s3Backend } from "../../../src/backend/s3/backend.ts";
import type { BucketLocation } from "../../../src/backend/s3/provision/init-bucket.ts";
import type { Backend } from "../../../src/backend/backend.ts";

export const NAME: string = "ab".padEnd(64, "0123456789");
export const OTHER: string = "cd".padEnd(64, "0123456789");

/** A backend for a bucket, at its server or at the given endpoint. */
export function on(
  { server, name }: Pick<Bucket, "server" | "name">,
  options: Partial<S3Options> = {},
): Backend {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  return s3({
    bucket: name,
    prefix: "store",
    endpoint,
    region: REGION,
    credentials: { accessKeyId, secretAccessKey },
    ...options,
  });
}

/** A bucket on MinIO that all tests of a describe block share. */
export function bucketForAll(options: { versioning?: boolean } = {}): () => Bucket {
  let bucket: Bucket;
  beforeAll(async () => {
    bucket = await newBucket(minioServer(), options);
  });
  afterAll(async () => {
    await bucket.remove();
  }, 60_000);
  return () => bucket;
}

export interface Recorded extends HttpProxy {
  readonly requests: ProxiedRequest[];
}

/** A proxy that records the requests. */
export function recording(server: S3Server, rules: ProxyRules = {}): Recorded {
  const requests: ProxiedRequest[] = [];
  const front = httpProxy(server.endpoint, {
    ...rules,
    respond(request) {
      requests.push(request);
      return rules.respond?.(request);
    },
  });
  return { ...front, requests };
}

/** A backend whose server is the given function. */
export function served(
  answer: (request: Request) => Response | Promise<Response>,
  options: Partial<S3Options> = {},
): { backend: Backend; endpoint: string; [Symbol.dispose](): void } {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 60, fetch: answer });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const backend = s3({
    bucket: "bucket",
    endpoint,
    region: REGION,
    credentials: { accessKeyId: "access-key", secretAccessKey: "secret-key" },
    ...options,
  });
  return { backend, endpoint, [Symbol.dispose]: () => void server.stop(true) };
}

/** A backend that trusts its server as it trusts Amazon. */
export function trustedBackend(endpoint: string): Backend {
  return s3Backend({ ...configAt(endpoint), trustChecksums: true });
}

/** A backend of which it is known that it keeps versions. */
export function versionedBackend(endpoint: string): Backend {
  return s3Backend({ ...configAt(endpoint), versioned: true });
}

function configAt(endpoint: string): ReturnType<typeof s3Config> {
  const credentials = { accessKeyId: "access-key", secretAccessKey: "secret-key" };
  return s3Config({ bucket: "bucket", endpoint, region: REGION, credentials });
}

/** The bucket of `served`, for both provisioning clients. */
export function locationsAt(
  endpoint: string,
  timeouts?: Timeouts,
): (BucketLocation & { provider: "s3" | "minio" })[] {
  const [accessKeyId, secretAccessKey] = ["access-key", "secret-key"];
  const common = { bucket: "bucket", endpoint, region: REGION, timeouts };
  return [
    { provider: "s3", ...common, credentials: { accessKeyId, secretAccessKey } },
    { provider: "minio", ...common, accessKey: accessKeyId, secretKey: secretAccessKey },
  ];
}

/** An S3 error response. */
export function errorResponse(
  status: number,
  code: string,
  message = "the store's message",
  headers: Record<string, string> = {},
): Response {
  return new Response(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    { status, headers },
  );
}

/** An XML response, by default a page of ListObjectsV2. */
export function xmlResponse(inner: string, root = "ListBucketResult"): Response {
  return new Response(`<?xml version="1.0"?><${root}>${inner}</${root}>`, {
    headers: { "content-type": "application/xml" },
  });
}

/** The response to a successful upload or HEAD. */
export function objectResponse(headers: Record<string, string> = {}): Response {
  return new Response(null, { headers: { etag: '"0"', ...headers } });
}

/** The message with which a call fails. */
export async function messageOf(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => new Error("the call succeeded"),
    (reason: unknown) => reason,
  );
  return error instanceof Error ? error.message : String(error);
}

/** Reads a listing up to its first blob. */
export async function first(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items) return;
}
