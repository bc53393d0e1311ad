import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { b2Config } from "../../../src/backend/b2.ts";
import { minioConfig } from "../../../src/backend/minio.ts";
import type { BucketConfig } from "../../../src/backend/s3/bucket-config.ts";
import { type BucketAccess, knownAccess } from "../../../src/backend/s3/http/access.ts";
import { openSdk } from "../../../src/backend/s3/http/sdk.ts";
import { s3Config } from "../../../src/backend/s3.ts";

const keys = { accessKey: "KEY", secretKey: "secret", sessionToken: "token" };
const credentials = { accessKeyId: "KEY", secretAccessKey: "secret" };

async function shown(access: BucketAccess | undefined) {
  if (access === undefined) return undefined;
  const { url, region, isCustomEndpoint } = access;
  const { credentials } = access;
  const { accessKeyId, secretAccessKey, sessionToken } =
    typeof credentials === "function" ? await credentials() : credentials;
  access.close();
  const path = url.pathname.replace(/\/$/u, "");
  const found = { origin: url.origin, path, region, isCustomEndpoint };
  return { ...found, accessKeyId, secretAccessKey, sessionToken };
}

/** A URL takes a host whose last label begins with a digit for an IPv4 address. */
const label = fc
  .stringMatching(/^[a-z][a-z0-9]{1,9}$/u)
  .filter((text) => !/fips|global/u.test(text));
const host = fc.oneof(
  fc.ipV4(),
  fc.constant("[::1]"),
  fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join(".")),
);
const bucket = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{2,20}$/u);

describe("access that needs nothing to be found", () => {
  test("is what the SDK finds", async () => {
    const port = fc.integer({ min: 1, max: 65_535 });
    await fc.assert(
      fc.asyncProperty(
        bucket,
        host,
        port,
        label,
        fc.boolean(),
        async (name, at, to, region, tls) => {
          const config = minioConfig({ bucket: name, host: at, port: to, tls, region, ...keys });
          const known = await shown(knownAccess(config));
          expect(known).toBeDefined();
          expect(known).toEqual(await shown((await openSdk(config)).access));
        },
      ),
      { numRuns: 50 },
    );
  });

  test("is that of every bucket on MinIO and B2, and of none at Amazon", () => {
    const b2 = b2Config({ bucket: "b", region: "eu-central-003", keyId: "K", applicationKey: "a" });
    expect(knownAccess(b2)?.url.href).toBe("https://s3.eu-central-003.backblazeb2.com/b");
    const amazon = { bucket: "b", region: "eu-west-3", credentials };
    expect(knownAccess(s3Config(amazon))).toBeUndefined();
    for (const endpoint of [
      "https://s3.eu-west-3.amazonaws.com",
      "https://s3.cn-north-1.amazonaws.com.cn",
      "https://bucket.vpce-1a2b3c4d-5e6f.s3.eu-west-3.vpce.amazonaws.com",
    ])
      expect(knownAccess(s3Config({ ...amazon, endpoint }))).toBeUndefined();
  });

  describe("with the keys in the environment", () => {
    const NAMES = [...Object.keys(process.env).filter((name) => name.startsWith("AWS_")), "HOME"];
    const saved = Object.fromEntries(NAMES.map((name) => [name, process.env[name]]));
    const VARIABLES = { AWS_ACCESS_KEY_ID: "KEY", AWS_SECRET_ACCESS_KEY: "secret" };
    const own = { bucket: "b", endpoint: "https://s3.example", region: "eu-west-3" };
    beforeEach(() => {
      for (const name of NAMES) delete process.env[name];
      Object.assign(process.env, VARIABLES, { HOME: import.meta.dir });
    });
    afterEach(() => {
      for (const name of Object.keys(process.env))
        if (name.startsWith("AWS_")) delete process.env[name];
      for (const [name, value] of Object.entries(saved))
        if (value !== undefined) process.env[name] = value;
    });

    test("is what the SDK finds", async () => {
      await fc.assert(
        fc.asyncProperty(
          bucket,
          host,
          label,
          fc.boolean(),
          fc.boolean(),
          async (name, at, region, tls, temporary) => {
            if (temporary) process.env["AWS_SESSION_TOKEN"] = "token";
            else delete process.env["AWS_SESSION_TOKEN"];
            const endpoint = `${tls ? "https" : "http"}://${at}:9000`;
            const config = s3Config({ bucket: name, endpoint, region });
            const known = await shown(knownAccess(config));
            expect(known).toMatchObject({ accessKeyId: "KEY" });
            expect(known).toEqual(await shown((await openSdk(config)).access));
          },
        ),
        { numRuns: 50 },
      );
    });

    test.each([
      ["AWS_PROFILE", "other"],
      ["AWS_CREDENTIAL_EXPIRATION", "2030-01-01T00:00:00Z"],
      ["AWS_USE_FIPS_ENDPOINT", "true"],
      ["AWS_USE_DUALSTACK_ENDPOINT", "true"],
      ["AWS_SECRET_ACCESS_KEY", ""],
      ["AWS_ACCESS_KEY_ID", ""],
    ])("is left to the SDK with %s", (name, value) => {
      expect(knownAccess(s3Config(own))).toBeDefined();
      process.env[name] = value;
      expect(knownAccess(s3Config(own))).toBeUndefined();
    });

    test.each([
      "aws-global",
      "fips-us-west-2",
      "us-west-2-fips",
      "eu west",
      "-x",
      "x-",
      "x".repeat(64),
      "",
    ])("is left to the SDK in the region %p", (region) => {
      expect(knownAccess(s3Config({ ...own, region }))).toBeUndefined();
    });

    test.each(["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])(
      "is left to the SDK with %s and keys in the options, too",
      (name) => {
        expect(knownAccess(s3Config({ ...own, credentials }))).toBeDefined();
        process.env[name] = "true";
        expect(knownAccess(s3Config({ ...own, credentials }))).toBeUndefined();
        process.env[name] = "false";
        expect(knownAccess(s3Config({ ...own, credentials }))).toBeDefined();
      },
    );

    test("is that of the options, if they have keys", async () => {
      const access = knownAccess(
        s3Config({ ...own, credentials: { accessKeyId: "MINE", secretAccessKey: "own" } }),
      );
      expect(await shown(access)).toMatchObject({ accessKeyId: "MINE", secretAccessKey: "own" });
    });
  });

  const whole = minioConfig({ bucket: "b", host: "minio.example", ...keys });
  const others: readonly (readonly [string, Partial<BucketConfig>])[] = [
    ["an endpoint", { endpoint: undefined }],
    ["a region", { region: undefined }],
    ["credentials", { credentials: undefined, provider: "s3" }],
    ["credentials that expire", { credentials: async () => credentials }],
    ["a host name with the bucket", { pathStyle: false }],
    ["an access point", { bucket: "arn:aws:s3:eu-west-3:123456789012:accesspoint/a" }],
    ["a directory bucket", { bucket: "logs--euw3-az1--x-s3" }],
    ["a bucket of an Outpost", { bucket: "alias--op-s3" }],
    ["a name that is not a segment of a path", { bucket: ".." }],
  ];
  test.each(others)("is left to the SDK for %s", (_, changed) => {
    expect(knownAccess(whole)).toBeDefined();
    expect(knownAccess({ ...whole, ...changed })).toBeUndefined();
  });
});
