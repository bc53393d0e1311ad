import { afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import {
  minioServer,
  newBucket,
  plainClient,
  REGION,
  type S3Server,
  versitygwServer,
} from "../../../../../tests/servers/s3-servers.ts";
import { minio } from "../../../src/backend/minio.ts";
import { type BucketLocation, initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { rejects } from "../rejects.ts";
import { NAME, on } from "./fixtures.ts";

const made: { server: S3Server; name: string }[] = [];

afterEach(async () => {
  for (const { server, name } of made.splice(0)) {
    const { DeleteBucketCommand } = await import("@aws-sdk/client-s3");
    await plainClient(server).send(new DeleteBucketCommand({ Bucket: name }));
  }
});

function newName(server: S3Server): string {
  const name = `idk-test-${randomBytes(8).toString("hex")}`;
  made.push({ server, name });
  return name;
}

function overMinio(bucket: string): BucketLocation {
  const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = minioServer();
  return { provider: "minio", bucket, prefix: "store", endpoint, accessKey, secretKey };
}

function overSdk(bucket: string, server = minioServer()): BucketLocation {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const credentials = { accessKeyId, secretAccessKey };
  return { provider: "s3", bucket, prefix: "store", endpoint, region: REGION, credentials };
}

/** The server's default key. */
async function kmsKey(): Promise<string> {
  const { client, name, remove } = await newBucket(minioServer());
  const object = { Bucket: name, Key: "x", Body: "x", ServerSideEncryption: "aws:kms" } as const;
  const { SSEKMSKeyId = "" } = await client.send(new PutObjectCommand(object));
  await remove();
  return SSEKMSKeyId.replace("arn:aws:kms:", "");
}

const WISHES = {
  versioning: true,
  objectLock: true,
  lifecycleDays: 30,
  defaultEncryption: { type: "AES256" },
} as const;

requireServer("minio")("initBucket", () => {
  describe.each([
    ["through MinIO's client", overMinio],
    ["through the AWS SDK", overSdk],
  ] as const)("%s", (_, at) => {
    test("creates a bucket, and finds it the second time", async () => {
      const location = at(newName(minioServer()));
      expect(await initBucket(location)).toEqual({ made: ["bucket"], there: [] });
      expect(await initBucket(location)).toEqual({ made: [], there: ["bucket"] });
      await on({ server: minioServer(), name: location.bucket }).head(NAME);
    });

    test("applies each setting once", async () => {
      const location = at(newName(minioServer()));
      const first = await initBucket(location, WISHES);
      // Object lock implies versioning.
      expect(first).toEqual({
        made: ["bucket", "object lock", "lifecycle", "default encryption"],
        there: ["versioning"],
      });
      expect(await initBucket(location, WISHES)).toEqual({
        made: [],
        there: ["bucket", "object lock", "versioning", "lifecycle", "default encryption"],
      });
    });

    test("replaces a weaker default encryption with aws:kms", async () => {
      const location = at(newName(minioServer()));
      const keyId = await kmsKey();
      const kms = { defaultEncryption: { type: "aws:kms", keyId } } as const;
      const weaker = { defaultEncryption: { type: "AES256" } } as const;
      await initBucket(location, weaker);
      expect(await initBucket(location, kms)).toEqual({
        made: ["default encryption"],
        there: ["bucket"],
      });
      const done = { made: [], there: ["bucket", "default encryption"] };
      expect<object>(await initBucket(location, kms)).toEqual(done);
      // A stronger default is kept.
      expect<object>(await initBucket(location, weaker)).toEqual(done);
      const command = new GetBucketEncryptionCommand({ Bucket: location.bucket });
      const { ServerSideEncryptionConfiguration } = await plainClient(minioServer()).send(command);
      expect(ServerSideEncryptionConfiguration?.Rules).toEqual([
        { ApplyServerSideEncryptionByDefault: { SSEAlgorithm: "aws:kms", KMSMasterKeyID: keyId } },
      ]);
      const backend = on({ server: minioServer(), name: location.bucket });
      expect((await backend.capabilities!()).encryption).toBe("aws:kms");
    });

    test("fails with a KMS key that does not exist", async () => {
      const location = at(newName(minioServer()));
      const defaultEncryption = { type: "aws:kms", keyId: "no-such-key" } as const;
      await rejects(initBucket(location, { defaultEncryption }), "unavailable", "and its key");
    });

    test("enables versioning on an existing bucket", async () => {
      const location = at(newName(minioServer()));
      await initBucket(location);
      expect(await initBucket(location, { versioning: true })).toEqual({
        made: ["versioning"],
        there: ["bucket"],
      });
    });

    test("cannot enable object lock on an existing bucket", async () => {
      const location = at(newName(minioServer()));
      await initBucket(location);
      await rejects(initBucket(location, { objectLock: true }), "usage", "without object lock");
    });

    test("keeps other lifecycle rules", async () => {
      const location = at(newName(minioServer()));
      await initBucket(location, { versioning: true });
      const client = plainClient(minioServer());
      const Bucket = location.bucket;
      // Texts that look like numbers, and blanks: another prefix would be that of other objects.
      const rule = { ID: "007", Filter: { Prefix: " 0x10" }, Expiration: { Days: 9 } };
      await client.send(
        new PutBucketLifecycleConfigurationCommand({
          Bucket,
          LifecycleConfiguration: { Rules: [{ ...rule, Status: "Enabled" }] },
        }),
      );
      await initBucket(location, { lifecycleDays: 30 });
      await initBucket(location, { lifecycleDays: 60 });
      const { Rules } = await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }));
      expect(Rules).toEqual([
        { ...rule, Status: "Enabled" },
        {
          ID: expect.stringMatching(/^idk-remove-old-versions-[0-9a-f]{16}$/u),
          Status: "Enabled",
          Filter: { Prefix: "store/" },
          NoncurrentVersionExpiration: { NoncurrentDays: 60 },
        },
      ]);
    });

    test("fails with wrong credentials", async () => {
      const wrong = { ...minioServer(), secretAccessKey: "not-the-secret" };
      const location =
        at === overSdk
          ? overSdk("idk-test-never", wrong)
          : { ...overMinio("idk-test-never"), secretKey: "not-the-secret" };
      await rejects(initBucket(location), "permission");
    });

    test("fails if the server does not respond", async () => {
      const location = { ...at("idk-test-never"), endpoint: "http://127.0.0.1:1" };
      const once = { retry: { budgetMs: 0, minAttempts: 1 } };
      const error = await rejects(
        initBucket(location, {}, once),
        "unavailable",
        "127.0.0.1:1 refused the connection",
      );
      expect(error.transient).toBe(true);
    });
  });

  test("rejects encryption that the provider does not support", async () => {
    const defaultEncryption = { type: "aws:kms" } as const;
    await rejects(initBucket(overMinio("b"), { defaultEncryption }), "usage", "pass the ID");
    const keys = { bucket: "b", region: "us-east-005", keyId: "id", applicationKey: "key" };
    const atB2 = initBucket({ provider: "b2", ...keys }, { defaultEncryption });
    await rejects(atB2, "usage", "no key management");
  });

  test("accepts only whole days", async () => {
    for (const lifecycleDays of [0, -1, 1.5, Number.NaN]) {
      await rejects(initBucket(overMinio("b"), { lifecycleDays }), "usage", "days");
    }
  });

  test("then encrypts uploads that request nothing", async () => {
    const location = overMinio(newName(minioServer()));
    await initBucket(location, { defaultEncryption: { type: "AES256" } });
    if (location.provider !== "minio") throw new Error("not MinIO");
    const backend = minio(location);
    expect((await backend.capabilities!()).encryption).toBe("AES256");
  });
});

requireServer("versitygw")("initBucket on versitygw", () => {
  test("creates a bucket, and finds it the second time", async () => {
    const location = overSdk(newName(versitygwServer()), versitygwServer());
    expect(await initBucket(location)).toEqual({ made: ["bucket"], there: [] });
    expect(await initBucket(location)).toEqual({ made: [], there: ["bucket"] });
  });
});
