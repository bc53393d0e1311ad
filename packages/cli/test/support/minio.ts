import { afterAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { Result } from "./cli.ts";
import { type Credentials, signedFetch } from "./signed-fetch.ts";

/** A MinIO server to test against, with root credentials. */
export interface Minio {
  readonly origin: string;
  readonly host: string;
  readonly root: Credentials;
  /** The variables for `minio://` and `s3://`. */
  readonly env: Readonly<Record<string, string>>;
  readonly awsEnv: Readonly<Record<string, string>>;
  /** Creates a bucket that is removed after the tests of the file. */
  createBucket(): Promise<string>;
  /** Returns the name for a bucket that a test creates itself, and registers it for removal. */
  newBucketName(): string;
  url(bucket: string, rest?: string): string;
  s3Url(bucket: string, rest?: string): string;
  putObject(bucket: string, key: string, body: Uint8Array | string): Promise<void>;
  deleteObject(bucket: string, key: string): Promise<void>;
  getObject(bucket: string, key: string): Promise<Uint8Array>;
  listKeys(bucket: string): Promise<string[]>;
  /** Subresources of buckets, such as `versioning`. */
  getBucketConfig(bucket: string, resource: string): Promise<string>;
  /** The ID of the server's default key for `aws:kms`. */
  kmsKey(bucket: string): Promise<string>;
  /** Temporary credentials restricted by a policy, in variables for `s3://` and `minio://`. */
  assumeRole(policy: string): Promise<Record<string, string>>;
}

/**
 * Runs tests against the server in an environment variable, http://access:secret@host:port, with
 * their own bucket. Without a server they are skipped by name, or fail if CI is set.
 *
 * @param server MinIO, or another S3-compatible server
 */
export async function describeMinio(
  name: string,
  body: (minio: Minio, bucket: string) => void,
  server: "minio" | "versitygw" = "minio",
): Promise<void> {
  const variable = `IDK_TEST_${server.toUpperCase()}`;
  const given = process.env[variable];
  if (given) {
    const minio = connect(new URL(given));
    const bucket = await minio.createBucket();
    describe(name, () => body(minio, bucket));
    return;
  }
  if (process.env["CI"])
    throw new Error(`${variable} is not set: script/${server} starts a server`);
  console.log(`skipped: ${name}: no ${server} (script/${server} run COMMAND… starts one)`);
  test.skip(name, () => {});
}

function connect(server: URL): Minio {
  const root = {
    accessKey: decodeURIComponent(server.username),
    secretKey: decodeURIComponent(server.password),
  };
  const { origin, host } = server;
  const buckets: string[] = [];

  const s3 = async (
    method: string,
    path: string,
    query: Readonly<Record<string, string>> = {},
    body: Uint8Array | string = "",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> => {
    const url = new URL(path, origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const response = await signedFetch({ method, url, service: "s3", body, headers }, root);
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };

  const listVersions = async (bucket: string): Promise<[key: string, version: string][]> => {
    const xml = await (await s3("GET", `/${bucket}`, { versions: "" })).text();
    return [...xml.matchAll(/<Key>(.*?)<\/Key>.*?<VersionId>(.*?)<\/VersionId>/gsu)].map(
      ([, key = "", version = ""]) => [key, version],
    );
  };

  const newBucketName = (): string => {
    const bucket = `idk-cli-${randomBytes(8).toString("hex")}`;
    buckets.push(bucket);
    return bucket;
  };

  afterAll(async () => {
    for (const bucket of buckets) {
      try {
        for (;;) {
          const versions = await listVersions(bucket);
          if (versions.length === 0) break;
          for (const [key, versionId] of versions) {
            await s3("DELETE", `/${bucket}/${key}`, { versionId });
          }
        }
        await s3("DELETE", `/${bucket}`);
      } catch (error) {
        if (!String(error).includes("NoSuchBucket")) throw error;
      }
    }
  });

  return {
    origin,
    host,
    root,
    env: { MINIO_ACCESS_KEY: root.accessKey, MINIO_SECRET_KEY: root.secretKey },
    awsEnv: { AWS_ACCESS_KEY_ID: root.accessKey, AWS_SECRET_ACCESS_KEY: root.secretKey },
    async createBucket() {
      const bucket = newBucketName();
      await s3("PUT", `/${bucket}`);
      return bucket;
    },
    newBucketName,
    url: (bucket, rest = "") => `minio://${host}/${bucket}${rest}`,
    s3Url: (bucket, rest = "") =>
      `s3://${bucket}${rest}${rest.includes("?") ? "&" : "?"}endpoint=${origin}&region=us-east-1`,
    async putObject(bucket, key, body) {
      await s3("PUT", `/${bucket}/${key}`, {}, body);
    },
    async deleteObject(bucket, key) {
      await s3("DELETE", `/${bucket}/${key}`);
    },
    getObject: async (bucket, key) => (await s3("GET", `/${bucket}/${key}`)).bytes(),
    async listKeys(bucket) {
      const keys: string[] = [];
      for (let token = ""; ;) {
        const next = token === "" ? undefined : { "continuation-token": token };
        const xml = await (await s3("GET", `/${bucket}`, { "list-type": "2", ...next })).text();
        keys.push(...[...xml.matchAll(/<Key>(.*?)<\/Key>/gu)].map(([, key = ""]) => key));
        token = /<NextContinuationToken>(.*?)</u.exec(xml)?.[1] ?? "";
        if (token === "") return keys;
      }
    },
    getBucketConfig: async (bucket, resource) =>
      (await s3("GET", `/${bucket}`, { [resource]: "" })).text(),
    async kmsKey(bucket) {
      const wish = { "x-amz-server-side-encryption": "aws:kms" };
      const { headers } = await s3("PUT", `/${bucket}/for-the-key`, {}, "", wish);
      await s3("DELETE", `/${bucket}/for-the-key`);
      const id = headers.get("x-amz-server-side-encryption-aws-kms-key-id");
      if (id === null) throw new Error("the server names no key");
      return id.replace("arn:aws:kms:", "");
    },
    async assumeRole(policy) {
      const body = new URLSearchParams({
        Action: "AssumeRole",
        Version: "2011-06-15",
        DurationSeconds: "3600",
        Policy: policy,
      }).toString();
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const url = new URL("/", origin);
      const request = { method: "POST", url, service: "sts", body, headers } as const;
      const response = await signedFetch(request, root);
      const xml = await response.text();
      const field = (name: string): string => {
        const [, value] = new RegExp(`<${name}>(.*?)</${name}>`, "su").exec(xml) ?? [];
        if (value === undefined) throw new Error(`AssumeRole: ${response.status} ${xml}`);
        return value;
      };
      const accessKey = field("AccessKeyId");
      const secretKey = field("SecretAccessKey");
      const token = field("SessionToken");
      return {
        AWS_ACCESS_KEY_ID: accessKey,
        AWS_SECRET_ACCESS_KEY: secretKey,
        AWS_SESSION_TOKEN: token,
        MINIO_ACCESS_KEY: accessKey,
        MINIO_SECRET_KEY: secretKey,
        MINIO_SESSION_TOKEN: token,
      };
    },
  };
}

/** Output must never contain credentials. */
export function expectNoCredentials(
  { stdout, stderr }: Pick<Result, "stdout" | "stderr">,
  env: Readonly<Record<string, string>>,
): void {
  const secret = /SECRET|TOKEN|ACCESS_KEY/u;
  for (const [name, value] of Object.entries(env)) {
    if (!secret.test(name)) continue;
    expect(stdout).not.toContain(value);
    expect(stderr).not.toContain(value);
  }
}
