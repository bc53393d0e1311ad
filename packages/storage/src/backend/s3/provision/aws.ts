import type {
  BucketLocationConstraint,
  CORSRule,
  LifecycleRule,
  S3Client,
} from "@aws-sdk/client-s3";
import { throwIfAborted, untilAborted } from "../../../abort.ts";
import { StorageError } from "../../../errors.ts";
import { foreignCause } from "../../../text.ts";
import { type BucketConfig, requirePrintableKeys } from "../bucket-config.ts";
import { connectTo } from "../http/connection.ts";
import { openSdk } from "../http/sdk.ts";
import { startDeadline } from "../../http/deadline.ts";
import type { ErrorResponse } from "../../http/errors.ts";
import { bucketError, CREDENTIALS_PROVIDER, exceptionError, failureCode } from "../http/errors.ts";
import {
  allowsReading,
  answersOrigin,
  corsRule,
  corsUnsupported,
  NO_CORS,
  NO_CORS_RULES,
} from "./cors.ts";
import {
  encryptionRule,
  nameTaken,
  NOT_CONFIGURED,
  type Provisioner,
  type ProvisionerOptions,
  ruleIdOf,
  satisfies,
} from "./provisioner.ts";
import { requireRoot } from "./require-root.ts";

type Run<T> = (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<T>;

/** Uses the AWS SDK, for Amazon S3, B2 and S3-compatible servers. */
export async function awsProvisioner(
  config: BucketConfig,
  { signal, retrying }: ProvisionerOptions,
): Promise<Provisioner> {
  const { bucket, timeouts } = config;
  const action = `prepare the bucket ${bucket}`;
  const { sdk, client, access } = await openSdk(config).catch((error: unknown) => {
    throw exceptionError(error, action, undefined);
  });
  const { probe, protocol, server, ownBucketUrl, close } = connectTo(access, config);

  const send = async <T>(run: Run<T>): Promise<T> => {
    throwIfAborted(signal);
    const deadline = startDeadline(signal, timeouts.firstByte + timeouts.stall, action, server);
    const unwatch = probe.watch(deadline, action);
    try {
      const work = client.config.credentials().then(
        (keys) => {
          requirePrintableKeys(keys);
          return run(client, { abortSignal: deadline.signal });
        },
        (error: unknown) => {
          throw exceptionError(error, action, signal, CREDENTIALS_PROVIDER);
        },
      );
      // Finding credentials ignores the signal.
      const result = await untilAborted(work, deadline.signal);
      probe.responded();
      protocol.responded();
      return result;
    } catch (error) {
      const response = signal?.aborted ? undefined : errorResponseOf(error);
      if (response === undefined || deadline.error !== undefined) probe.failed();
      else probe.responded();
      if (deadline.error !== undefined) throw deadline.error;
      const failure = response?.code === "" ? response.status : failureCode(error);
      throw (
        (await untilAborted(protocol.mismatch(failure, action), signal)) ??
        (response
          ? bucketError(response, action, bucket)
          : sdkException(error, action, signal, server))
      );
    } finally {
      unwatch();
      deadline.end();
    }
  };
  const call = <T>(run: Run<T>): Promise<T> => retrying(() => send(run));
  /** A setting of the bucket, or undefined if it is not configured. */
  const getSetting = <T>(run: Run<T>): Promise<T | undefined> =>
    call((s3, options) =>
      run(s3, options).catch((error: unknown) => {
        if (error instanceof Error && NOT_CONFIGURED.has(error.name)) return undefined;
        throw error;
      }),
    );
  const Bucket = bucket;
  const ruleId = ruleIdOf(config);

  const lifecycleRules = async (): Promise<LifecycleRule[]> => {
    const command = new sdk.GetBucketLifecycleConfigurationCommand({ Bucket });
    requireRoot(command, "GetBucketLifecycleConfiguration", "LifecycleConfiguration", action);
    return (await getSetting((s3, options) => s3.send(command, options)))?.Rules ?? [];
  };

  /** The CORS rules of the bucket, or undefined if the server has none for buckets. */
  const corsRules = async (): Promise<CORSRule[] | undefined> => {
    const command = new sdk.GetBucketCorsCommand({ Bucket });
    requireRoot(command, "GetBucketCors", "CORSConfiguration", action);
    return call((s3, options) =>
      s3.send(command, options).then(
        ({ CORSRules = [] }) => CORSRules,
        (error: unknown) => {
          const name = error instanceof Error ? error.name : "";
          if (NO_CORS.has(name)) return undefined;
          if (name === NO_CORS_RULES) return [];
          throw error;
        },
      ),
    );
  };

  return {
    async exists() {
      return call((s3, options) =>
        s3.send(new sdk.HeadBucketCommand({ Bucket }), options).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Error && error.name === "NotFound") return false;
            throw error;
          },
        ),
      );
    },
    async create(objectLock) {
      const region = config.region ?? (await call((s3) => s3.config.region()));
      const command = new sdk.CreateBucketCommand({
        Bucket,
        ...(objectLock ? { ObjectLockEnabledForBucket: true } : {}),
        // us-east-1 is not a valid location constraint, and the auto of R2 is no place. On B2 the
        // endpoint determines the region.
        ...(/^(?:us-east-1|auto)$/u.test(region) || config.provider === "b2"
          ? {}
          : {
              CreateBucketConfiguration: { LocationConstraint: region as BucketLocationConstraint },
            }),
      });
      return call((s3, options) =>
        s3.send(command, options).then(
          () => true,
          (error: unknown) => {
            const name = error instanceof Error ? error.name : "";
            if (name === "BucketAlreadyOwnedByYou") return false;
            throw name === "BucketAlreadyExists" ? nameTaken(bucket) : error;
          },
        ),
      );
    },
    async hasVersioning() {
      const command = new sdk.GetBucketVersioningCommand({ Bucket });
      return (await call((s3, options) => s3.send(command, options))).Status === "Enabled";
    },
    async setVersioning() {
      const command = new sdk.PutBucketVersioningCommand({
        Bucket,
        VersioningConfiguration: { Status: "Enabled" },
      });
      await call((s3, options) => s3.send(command, options));
    },
    async hasObjectLock() {
      const command = new sdk.GetObjectLockConfigurationCommand({ Bucket });
      const result = await getSetting((s3, options) => s3.send(command, options));
      return result?.ObjectLockConfiguration?.ObjectLockEnabled === "Enabled";
    },
    async hasLifecycle(days) {
      const rules = await lifecycleRules();
      return rules.some(
        ({ ID, Status, NoncurrentVersionExpiration: expiration }) =>
          ID === ruleId && Status === "Enabled" && expiration?.NoncurrentDays === days,
      );
    },
    async setLifecycle(days) {
      // The request replaces all rules, so it contains the others too.
      const others = (await lifecycleRules()).filter(({ ID }) => ID !== ruleId);
      const rule: LifecycleRule = {
        ID: ruleId,
        Status: "Enabled",
        Filter: { Prefix: config.keyPrefix },
        NoncurrentVersionExpiration: { NoncurrentDays: days },
      };
      const command = new sdk.PutBucketLifecycleConfigurationCommand({
        Bucket,
        LifecycleConfiguration: { Rules: [...others, rule] },
      });
      await call((s3, options) => s3.send(command, options));
    },
    async hasEncryption(encryption) {
      const command = new sdk.GetBucketEncryptionCommand({ Bucket });
      const result = await getSetting((s3, options) => s3.send(command, options));
      const rules = result?.ServerSideEncryptionConfiguration?.Rules ?? [];
      return rules.some((rule) => satisfies(rule.ApplyServerSideEncryptionByDefault, encryption));
    },
    async setEncryption(encryption) {
      const command = new sdk.PutBucketEncryptionCommand({
        Bucket,
        ServerSideEncryptionConfiguration: {
          Rules: [{ ApplyServerSideEncryptionByDefault: encryptionRule(encryption) }],
        },
      });
      await call((s3, options) => s3.send(command, options));
    },
    async hasCors(origin) {
      if ((await corsRules())?.some((rule) => allowsReading(rule, origin))) return true;
      // Amazon has rules for each bucket.
      if (ownBucketUrl === undefined) return false;
      return call((_, { abortSignal }) => answersOrigin(ownBucketUrl, origin, abortSignal));
    },
    async setCors(origin) {
      const rule = corsRule(origin);
      const rules = await corsRules();
      // The request replaces all rules, so it contains the others too. Without knowing them, it would
      // delete them.
      if (rules === undefined) throw corsUnsupported(config, origin);
      const others = rules.filter(({ ID }) => ID !== rule.ID);
      const command = new sdk.PutBucketCorsCommand({
        Bucket,
        CORSConfiguration: { CORSRules: [...others, rule] },
      });
      await call((s3, options) =>
        s3.send(command, options).catch((error: unknown) => {
          if (error instanceof Error && NO_CORS.has(error.name)) {
            throw corsUnsupported(config, origin);
          }
          throw error;
        }),
      );
    },
    close,
  };
}

/** The error response in an error of the SDK, or undefined if the error has another cause. */
function errorResponseOf(error: unknown): ErrorResponse | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  const { httpStatusCode: status } = error.$metadata as { httpStatusCode?: number };
  // A 200 that the SDK cannot parse counts as no response.
  if (status === undefined || status < 300) return undefined;
  const { headers = {} } = ("$response" in error ? error.$response : {}) as {
    headers?: Record<string, string>;
  };
  return {
    status,
    // A response to HEAD has no body, and the SDK then invents a name.
    code: /^(?:Unknown|UnknownError|\d+)$/u.test(error.name) ? "" : error.name,
    message: error.message,
    header: (name) => headers[name] ?? null,
  };
}

function sdkException(
  error: unknown,
  action: string,
  signal: AbortSignal | undefined,
  server: string,
): StorageError {
  if (error instanceof Error && "$response" in error && !signal?.aborted) {
    const text = `cannot ${action}: the response cannot be parsed; check the endpoint URL, or try again`;
    return new StorageError("unavailable", text, { cause: foreignCause(error), transient: true });
  }
  return exceptionError(error, action, signal, server);
}
