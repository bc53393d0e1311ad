import type { BucketLocationConstraint, LifecycleRule, S3Client } from "@aws-sdk/client-s3";
import { connect } from "./connection.ts";
import { failure } from "./errors.ts";
import type { Place } from "./place.ts";
import {
  encryptionRule,
  fulfils,
  NEVER_SET,
  type Provisioner,
  type ProvisionerOptions,
  ruleIdOf,
  taken,
} from "./provisioner.ts";

type Run<T> = (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<T>;

/** Through the AWS SDK, for Amazon S3, B2 and others. */
export async function sdkProvisioner(
  place: Place,
  { signal, retrying }: ProvisionerOptions,
): Promise<Provisioner> {
  const { bucket } = place;
  const doing = `prepare the bucket ${bucket}`;
  const connection = await connect(place).catch((error: unknown) => {
    throw failure(error, doing, undefined);
  });
  const { sdk } = connection;
  const call = <T>(run: Run<T>): Promise<T> => retrying(() => connection.call(doing, signal, run));
  /** What a bucket says of a setting, or undefined where it never got it. */
  const ask = <T>(run: Run<T>): Promise<T | undefined> =>
    call((client, options) =>
      run(client, options).catch((error: unknown) => {
        if (error instanceof Error && NEVER_SET.has(error.name)) return undefined;
        throw error;
      }),
    );
  const Bucket = bucket;
  const ruleId = ruleIdOf(place);

  const lifecycleRules = async (): Promise<LifecycleRule[]> => {
    const command = new sdk.GetBucketLifecycleConfigurationCommand({ Bucket });
    return (await ask((client, options) => client.send(command, options)))?.Rules ?? [];
  };

  return {
    async exists() {
      const found = await call((client, options) =>
        client.send(new sdk.HeadBucketCommand({ Bucket }), options).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Error && error.name === "NotFound") return false;
            throw error;
          },
        ),
      );
      return found;
    },
    async create(objectLock) {
      const region = place.region ?? (await call((client) => client.config.region()));
      const command = new sdk.CreateBucketCommand({
        Bucket,
        ...(objectLock ? { ObjectLockEnabledForBucket: true } : {}),
        // The protocol has no word for its first region. B2's endpoint says where.
        ...(region === "us-east-1" || place.provider === "b2"
          ? {}
          : {
              CreateBucketConfiguration: { LocationConstraint: region as BucketLocationConstraint },
            }),
      });
      return call((client, options) =>
        client.send(command, options).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Error && error.name === "BucketAlreadyOwnedByYou") return false;
            if (error instanceof Error && error.name === "BucketAlreadyExists") throw taken(bucket);
            throw error;
          },
        ),
      );
    },
    async hasVersioning() {
      const command = new sdk.GetBucketVersioningCommand({ Bucket });
      return (await call((client, options) => client.send(command, options))).Status === "Enabled";
    },
    async setVersioning() {
      const command = new sdk.PutBucketVersioningCommand({
        Bucket,
        VersioningConfiguration: { Status: "Enabled" },
      });
      await call((client, options) => client.send(command, options));
    },
    async hasObjectLock() {
      const command = new sdk.GetObjectLockConfigurationCommand({ Bucket });
      const answer = await ask((client, options) => client.send(command, options));
      return answer?.ObjectLockConfiguration?.ObjectLockEnabled === "Enabled";
    },
    async hasLifecycle(days) {
      const rules = await lifecycleRules();
      return rules.some(
        ({ ID, Status, NoncurrentVersionExpiration: expiration }) =>
          ID === ruleId && Status === "Enabled" && expiration?.NoncurrentDays === days,
      );
    },
    async setLifecycle(days) {
      // The call replaces all rules, so the others go along.
      const others = (await lifecycleRules()).filter(({ ID }) => ID !== ruleId);
      const rule: LifecycleRule = {
        ID: ruleId,
        Status: "Enabled",
        Filter: { Prefix: place.folder },
        NoncurrentVersionExpiration: { NoncurrentDays: days },
      };
      const command = new sdk.PutBucketLifecycleConfigurationCommand({
        Bucket,
        LifecycleConfiguration: { Rules: [...others, rule] },
      });
      await call((client, options) => client.send(command, options));
    },
    async hasEncryption(wish) {
      const command = new sdk.GetBucketEncryptionCommand({ Bucket });
      const answer = await ask((client, options) => client.send(command, options));
      const rules = answer?.ServerSideEncryptionConfiguration?.Rules ?? [];
      return rules.some((rule) => fulfils(rule.ApplyServerSideEncryptionByDefault, wish));
    },
    async setEncryption(wish) {
      const command = new sdk.PutBucketEncryptionCommand({
        Bucket,
        ServerSideEncryptionConfiguration: {
          Rules: [{ ApplyServerSideEncryptionByDefault: encryptionRule(wish) }],
        },
      });
      await call((client, options) => client.send(command, options));
    },
    close: () => connection.close(),
  };
}
