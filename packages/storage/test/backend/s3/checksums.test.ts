import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { minio } from "../../../src/backend/minio.ts";
import { connect } from "../../../src/backend/s3/http/connection.ts";
import { type S3Options, s3Config } from "../../../src/backend/s3.ts";
import { sha256 } from "../../support.ts";
import { bucketForAll, errorResponse, NAME, on, served, trustedBackend } from "./fixtures.ts";

const BYTES = Buffer.from("opaque bytes");
const CLAIM = Buffer.from(NAME, "hex").toString("base64");

/** A read-only store that returns whatever checksum a writer claimed. */
function claiming(request: Request): Response {
  if (request.method === "HEAD") {
    return new Response(null, {
      headers: { etag: '"0"', "content-length": "12", "x-amz-checksum-sha256": CLAIM },
    });
  }
  if (request.method !== "GET") return errorResponse(403, "AccessDenied");
  return new Response(
    `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>
    <Contents><Key>${NAME}</Key><Size>12</Size></Contents></ListBucketResult>`,
    { headers: { "content-type": "application/xml" } },
  );
}

describe("read-only credentials", () => {
  test("return no SHA-256 from an unknown store, before and after `capabilities`", async () => {
    using fake = served(claiming);
    const { backend } = fake;
    expect(await backend.head(NAME)).toEqual({ size: 12 });
    expect((await backend.capabilities!()).verifiesChecksums).toBe(false);
    expect(await backend.head(NAME)).toEqual({ size: 12 });
  });

  test("return no SHA-256 through minio() either, before and after `capabilities`", async () => {
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: claiming });
    const [accessKey, secretKey] = ["access-key", "secret-key"];
    const { origin: endpoint } = server.url;
    const backend = minio({ bucket: "bucket", endpoint, accessKey, secretKey });
    expect(await backend.head(NAME)).toEqual({ size: 12 });
    expect((await backend.capabilities!()).verifiesChecksums).toBe(false);
    expect(await backend.head(NAME)).toEqual({ size: 12 });
    void server.stop(true);
  });

  test("return the SHA-256 from Amazon, which is known to verify it", async () => {
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: claiming });
    const backend = trustedBackend(server.url.origin);
    expect((await backend.capabilities!()).verifiesChecksums).toBe(true);
    expect(await backend.head(NAME)).toEqual({ size: 12, sha256: NAME });
    void server.stop(true);
  });
});

describe("trust in Amazon's checksums", () => {
  const variables = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE", "AWS_PROFILE"];
  const before = variables.map((name) => process.env[name]);
  const folder = mkdtempSync(join(tmpdir(), "idk-test-"));
  afterEach(() => {
    for (const [i, name] of variables.entries()) {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const credentials = { accessKeyId: "access-key", secretAccessKey: "secret-key" };
  const options: S3Options = { bucket: "bucket", region: "eu-west-3", credentials };

  const trusted = async (given: Partial<S3Options> = {}): Promise<boolean> => {
    const config = s3Config({ ...options, ...given });
    const connection = await connect(config);
    connection.close();
    return config.trustChecksums && !connection.endpointFromEnvironment;
  };

  test("applies if no other endpoint is set", async () => {
    expect(await trusted()).toBe(true);
    expect(await trusted({ endpoint: "https://s3.example" })).toBe(false);
  });

  test.each(["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])("does not apply with %s", async (name) => {
    process.env[name] = "https://s3.example";
    expect(await trusted()).toBe(false);
  });

  test("does not apply if the profile sets another endpoint", async () => {
    const file = join(folder, "config");
    writeFileSync(file, "[profile other]\nendpoint_url = https://s3.example\n");
    process.env["AWS_CONFIG_FILE"] = file;
    process.env["AWS_PROFILE"] = "other";
    expect(await trusted()).toBe(false);
  });
});

requireServer("minio")("an s3 backend on MinIO", () => {
  const bucket = bucketForAll();

  test("returns the SHA-256 once `capabilities` has shown that MinIO verifies it", async () => {
    const backend: Backend = on(bucket());
    await backend.put(NAME, BYTES);
    expect(await backend.head(NAME)).toEqual({
      size: BYTES.length,
      storedAt: expect.any(Number),
    });
    expect((await backend.capabilities!()).verifiesChecksums).toBe(true);
    expect(await backend.head(NAME)).toEqual({
      size: BYTES.length,
      sha256: sha256(BYTES),
      storedAt: expect.any(Number),
    });
  });
});
