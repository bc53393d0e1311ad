import type { StorageError } from "../../errors.ts";
import { failure, refusal } from "./errors.ts";
import type { Place } from "./place.ts";
import {
  encryptionRule,
  type EncryptionRule,
  fulfils,
  NEVER_SET,
  type Provisioner,
  ruleIdOf,
  taken,
} from "./provisioner.ts";

/** Through MinIO's own client, which is loaded here and not before. */
export async function minioProvisioner(place: Place): Promise<Provisioner> {
  const { bucket, region = "" } = place;
  const client = await clientFor(place);
  const call = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw errorOf(error, bucket);
    });
  /** What a bucket says of a setting, or undefined where it never got it. */
  const ask = async <T>(work: Promise<T>): Promise<T | undefined> =>
    call(
      work.catch((error: unknown) => {
        if (NEVER_SET.has(codeOf(error))) return undefined;
        throw error;
      }),
    );
  const ruleId = ruleIdOf(place);
  const lifecycleRules = async () =>
    // The client's types say a list, but one rule comes alone.
    [(await ask(client.getBucketLifecycle(bucket)))?.Rule ?? []].flat();

  return {
    exists: () => call(client.bucketExists(bucket)),
    create: (objectLock) =>
      call(
        client.makeBucket(bucket, region, { ObjectLocking: objectLock }).then(
          () => true,
          (error: unknown) => {
            if (codeOf(error) === "BucketAlreadyOwnedByYou") return false;
            throw codeOf(error) === "BucketAlreadyExists" ? taken(bucket) : error;
          },
        ),
      ),
    async hasVersioning() {
      return (await call(client.getBucketVersioning(bucket))).Status === "Enabled";
    },
    setVersioning: () => call(client.setBucketVersioning(bucket, { Status: "Enabled" })),
    async hasObjectLock() {
      // The client's types say that it gives nothing.
      const asked = client.getObjectLockConfig(bucket) as unknown as Promise<object | null>;
      return "objectLockEnabled" in ((await ask(asked)) ?? {});
    },
    async hasLifecycle(days) {
      return (await lifecycleRules()).some(
        ({ ID, Status, NoncurrentVersionExpiration: expiration }) =>
          ID === ruleId && Status === "Enabled" && expiration?.NoncurrentDays === days,
      );
    },
    async setLifecycle(days) {
      // The call replaces all rules, so the others go along.
      const others = (await lifecycleRules()).filter(({ ID }) => ID !== ruleId);
      const rule = {
        ID: ruleId,
        Status: "Enabled",
        Filter: { Prefix: place.folder },
        NoncurrentVersionExpiration: { NoncurrentDays: days },
      };
      await call(client.setBucketLifecycle(bucket, { Rule: [...others, rule] }));
    },
    async hasEncryption(wish) {
      const answer = (await ask(client.getBucketEncryption(bucket))) as
        | EncryptionAnswer
        | undefined;
      const rules = [answer?.ServerSideEncryptionConfiguration?.Rule ?? []].flat();
      return rules.some((rule) => fulfils(rule.ApplyServerSideEncryptionByDefault, wish));
    },
    async setEncryption(wish) {
      const rule = { ApplyServerSideEncryptionByDefault: encryptionRule(wish) };
      await call(client.setBucketEncryption(bucket, { Rule: [rule] }));
    },
    // Its connections end by themselves.
    close: () => undefined,
  };
}

/** The client has no type for it. One rule comes alone. */
interface EncryptionAnswer {
  readonly ServerSideEncryptionConfiguration?: {
    readonly Rule?: EncryptionAnswerRule | readonly EncryptionAnswerRule[];
  };
}

interface EncryptionAnswerRule {
  readonly ApplyServerSideEncryptionByDefault?: EncryptionRule;
}

async function clientFor({ endpoint = "", region = "", credentials }: Place) {
  if (typeof credentials !== "object") throw new TypeError("MinIO's keys are given as they are");
  const { Client } = await import("minio");
  const { protocol, hostname, port } = new URL(endpoint);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const tls = protocol === "https:";
  return new Client({
    endPoint: hostname.replaceAll(/[[\]]/gu, ""),
    port: port === "" ? (tls ? 443 : 80) : Number(port),
    useSSL: tls,
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    region,
  });
}

function errorOf(error: unknown, bucket: string): StorageError {
  const doing = `prepare the bucket ${bucket}`;
  if (!(error instanceof Error) || error.name !== "S3Error") {
    return failure(error, doing, undefined);
  }
  // The client does not tell the status; only where the code says too little does it matter.
  const code = codeOf(error);
  const answer = { status: code === "AccessDenied" ? 403 : 400, code, message: error.message };
  return refusal({ ...answer, header: () => null }, doing, bucket);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
