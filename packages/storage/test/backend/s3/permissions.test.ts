import { expect, test } from "bun:test";
import { ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { AssumeRoleProvider } from "minio/dist/esm/AssumeRoleProvider.mjs";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import type { Credentials } from "../../../src/backend/s3.ts";
import { rejects } from "../rejects.ts";
import { bucketForAll, NAME, on, OTHER } from "./fixtures.ts";

const BYTES = Buffer.from("opaque bytes");

requireServer("minio")("credentials", () => {
  const bucket = bucketForAll();

  /** Temporary credentials that allow only these actions. */
  const limitedTo = async (...actions: string[]): Promise<Credentials> => {
    const { server, name } = bucket();
    const provider = new AssumeRoleProvider({
      stsEndpoint: server.endpoint,
      accessKey: server.accessKeyId,
      secretKey: server.secretAccessKey,
      durationSeconds: 900,
      policy: JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Allow",
            Action: actions,
            Resource: [`arn:aws:s3:::${name}`, `arn:aws:s3:::${name}/*`],
          },
        ],
      }),
    });
    const made = await provider.getCredentials();
    return {
      accessKeyId: made.getAccessKey(),
      secretAccessKey: made.getSecretKey(),
      sessionToken: made.getSessionToken(),
    };
  };

  const everyCall = (backend: Backend): (() => Promise<unknown>)[] => [
    () => backend.put(NAME, BYTES),
    () => backend.get(NAME, new Uint8Array(100)),
    () => backend.head(NAME),
    () => backend.delete(NAME),
    () => Array.fromAsync(backend.list("")),
  ];

  const keys = async (): Promise<(string | undefined)[]> => {
    const { client, name } = bucket();
    const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
    return Versions.map(({ Key }) => Key);
  };

  test("that are wrong fail every call with a permanent error", async () => {
    const { accessKeyId, secretAccessKey } = bucket().server;
    for (const credentials of [
      { accessKeyId, secretAccessKey: "not-the-secret" },
      { accessKeyId: "nobody", secretAccessKey },
    ]) {
      for (const call of everyCall(on(bucket(), { credentials }))) {
        expect((await rejects(call(), "permission")).transient).toBe(false);
      }
    }
    const wrong = on(bucket(), { credentials: { accessKeyId, secretAccessKey: "not-the-secret" } });
    await rejects(wrong.put(NAME, BYTES), "permission", "the signature does not match");
  });

  test("that only permit puts and listings can hold markers and tell the time", async () => {
    const marker = `${"0".repeat(32)}/${"1".repeat(16)}-${NAME}`;
    const credentials = await limitedTo("s3:PutObject", "s3:ListBucket");
    const writer = on(bucket(), { credentials, prefix: "store/repo" });
    expect(Math.abs((await writer.currentTime!()) - Date.now())).toBeLessThan(60_000);
    await writer.put(NAME, BYTES);
    await writer.putMarker!(marker);
    await writer.putMarker!(marker);
    const found = await Array.fromAsync(writer.listMarkers!("", { limit: 1 }));
    expect(found.map(({ name }) => name)).toEqual([marker]);
    await rejects(writer.get(NAME, new Uint8Array(100)), "permission");
    await rejects(writer.deleteMarker!(marker), "permission", "delete the marker");

    const owner = on(bucket(), { prefix: "store/repo" });
    expect(await Array.fromAsync(owner.listMarkers!(""))).toEqual(found);
    await owner.deleteMarker!(marker);
    await owner.delete(NAME);
  });

  test("that only permit reads can read and determine some capabilities", async () => {
    await on(bucket()).put(OTHER, BYTES);
    const credentials = await limitedTo("s3:GetObject", "s3:ListBucket", "s3:GetBucketVersioning");
    const reader = on(bucket(), { credentials });
    expect(await reader.get(OTHER, new Uint8Array(100))).toBe(BYTES.length);
    expect((await reader.head(OTHER))?.size).toBe(BYTES.length);
    expect(await reader.head(NAME)).toBeUndefined();
    expect(await Array.fromAsync(reader.list(""))).toHaveLength(1);
    await rejects(reader.put(NAME, BYTES), "permission", "check their policy");
    await rejects(reader.delete(OTHER), "permission", "check their policy");
    // Without a write it is unknown whether this server verifies checksums.
    expect(await reader.capabilities!()).toEqual({
      verifiesChecksums: false,
      conditionalPut: false,
      versions: false,
      encryption: undefined,
    });
    expect(await keys()).toEqual([`store/${OTHER}`]);
  });

  test("that only permit writes can write, and leave no trial blob behind", async () => {
    const writer = on(bucket(), { credentials: await limitedTo("s3:PutObject") });
    await writer.put(OTHER, BYTES);
    await rejects(writer.get(OTHER, new Uint8Array(100)), "permission");
    expect(await writer.capabilities!()).toMatchObject({
      verifiesChecksums: false,
      conditionalPut: false,
      // Neither a delete nor a question about versions is permitted.
      versions: undefined,
    });
    expect(await keys()).toEqual([`store/${OTHER}`]);
  });

  test("from a function are requested once, when needed", async () => {
    let asked = 0;
    const backend = on(bucket(), {
      credentials: async () => {
        asked += 1;
        return limitedTo("s3:PutObject");
      },
    });
    expect(asked).toBe(0);
    await backend.put(OTHER, BYTES);
    await backend.put(OTHER, BYTES);
    expect(asked).toBe(1);
  });

  test("do not hide that the bucket is missing", async () => {
    const { server } = bucket();
    const backend = on({ server, name: "idk-test-no-such-bucket" });
    for (const call of [...everyCall(backend), () => backend.capabilities!()]) {
      const error = await rejects(call(), "unavailable", "no-such-bucket does not exist");
      expect(error.transient).toBe(false);
    }
  });
});

requireServer("versitygw")("head on a server whose response to HEAD has no code", () => {
  test("distinguishes a missing bucket from a missing blob", async () => {
    const { versitygwServer } = await import("../../../../../tests/servers/s3-servers.ts");
    const backend = on({ server: versitygwServer(), name: "idk-test-no-such-bucket" });
    await rejects(backend.head(NAME), "unavailable", "no-such-bucket does not exist");
  });
});
