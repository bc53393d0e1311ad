import { requireServer } from "../../../../../tests/servers/require-server.ts";
import { minioServer, newBucket } from "../../../../../tests/servers/s3-servers.ts";
import { minio } from "../../../src/backend/minio.ts";
import { conforms, conformsAsB2, overS3 } from "./s3.ts";

requireServer("minio")("s3 on MinIO", () => {
  conforms(() => newBucket(minioServer()), overS3);
});

// The code is the same as for s3, so what differs between buckets is tested with it, too.
requireServer("minio")("minio on MinIO with versions and encryption", () => {
  conforms(
    () => newBucket(minioServer(), { versioning: true }),
    ({ name, server }, prefix) =>
      minio({
        bucket: name,
        prefix,
        endpoint: server.endpoint,
        accessKey: server.accessKeyId,
        secretKey: server.secretAccessKey,
        encryption: { type: "AES256" },
      }),
    50,
  );
});

requireServer("minio")("b2 on MinIO behind a B2-like proxy", () => conformsAsB2(minioServer));
