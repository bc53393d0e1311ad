import { throwIfAborted, untilAborted } from "../../abort.ts";
import http, { type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import { StorageError, usage } from "../../errors.ts";
import { deadline } from "./deadline.ts";
import { failure, refusal } from "./errors.ts";
import type { Place } from "./place.ts";
import { requirePrintableKeys } from "./printable.ts";
import {
  encryptionRule,
  type EncryptionRule,
  fulfils,
  NEVER_SET,
  type Provisioner,
  type ProvisionerOptions,
  ruleIdOf,
  taken,
} from "./provisioner.ts";

/** Through MinIO's own client, which is loaded here and not before. */
export async function minioProvisioner(
  place: Place,
  { signal, retrying }: ProvisionerOptions,
): Promise<Provisioner> {
  const { bucket, region = "", timeouts } = place;
  const doing = `prepare the bucket ${bucket}`;
  const transport = transportFor(place);
  const client = await clientFor(place, transport);
  const call = <T>(run: () => Promise<T>): Promise<T> =>
    retrying(async () => {
      throwIfAborted(signal);
      const timer = deadline(signal, timeouts.firstByte + timeouts.stall, doing);
      transport.begin(timer.signal);
      try {
        return await untilAborted(run(), timer.signal);
      } catch (error) {
        // What nobody waits for any longer must not keep the process alive.
        timer.abandon();
        throw timer.late ?? errorOf(error, transport.answer(), doing, bucket, signal);
      } finally {
        timer.end();
      }
    });
  /** What a bucket says of a setting, or undefined where it never got it. */
  const ask = <T>(run: () => Promise<T>): Promise<T | undefined> =>
    call(() =>
      run().catch((error: unknown) => {
        if (NEVER_SET.has(codeOf(error))) return undefined;
        throw error;
      }),
    );
  const ruleId = ruleIdOf(place);
  const lifecycleRules = async () =>
    // The client's types say a list, but one rule comes alone.
    [(await ask(() => client.getBucketLifecycle(bucket)))?.Rule ?? []].flat();

  return {
    exists: () => call(() => client.bucketExists(bucket)),
    create: (objectLock) =>
      call(() =>
        client.makeBucket(bucket, region, { ObjectLocking: objectLock }).then(
          () => true,
          (error: unknown) => {
            if (codeOf(error) === "BucketAlreadyOwnedByYou") return false;
            throw codeOf(error) === "BucketAlreadyExists" ? taken(bucket) : error;
          },
        ),
      ),
    async hasVersioning() {
      return (await call(() => client.getBucketVersioning(bucket))).Status === "Enabled";
    },
    setVersioning: () => call(() => client.setBucketVersioning(bucket, { Status: "Enabled" })),
    async hasObjectLock() {
      // The client's types say that it gives nothing.
      const asked = () => client.getObjectLockConfig(bucket) as unknown as Promise<object | null>;
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
      await call(() => client.setBucketLifecycle(bucket, { Rule: [...others, rule] }));
    },
    async hasEncryption(wish) {
      const answer = (await ask(() => client.getBucketEncryption(bucket))) as
        | EncryptionAnswer
        | undefined;
      const rules = [answer?.ServerSideEncryptionConfiguration?.Rule ?? []].flat();
      return rules.some((rule) => fulfils(rule.ApplyServerSideEncryptionByDefault, wish));
    },
    async setEncryption(wish) {
      const rule = { ApplyServerSideEncryptionByDefault: encryptionRule(wish) };
      await call(() => client.setBucketEncryption(bucket, { Rule: [rule] }));
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

async function clientFor({ endpoint = "", region = "", credentials }: Place, transport: Transport) {
  if (typeof credentials !== "object") throw new TypeError("MinIO's keys are given as they are");
  const { Client } = await import("minio");
  const { protocol, hostname, port } = new URL(endpoint);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  requirePrintableKeys(credentials);
  const tls = protocol === "https:";
  return new Client({
    endPoint: hostname.replaceAll(/[[\]]/gu, ""),
    port: port === "" ? (tls ? 443 : 80) : Number(port),
    useSSL: tls,
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    region,
    // It would write a warning to the console before each.
    retryOptions: { disableRetry: true },
    transport,
  });
}

/** What the client sends its requests through. */
interface Transport extends Pick<typeof http, "request"> {
  /** From here on requests end when this signal fires. */
  begin(signal: AbortSignal): void;
  /** The last answer since then; the client's errors do not tell its status and headers. */
  answer(): IncomingMessage | undefined;
}

function transportFor({ endpoint = "" }: Place): Transport {
  const { request } = endpoint.startsWith("https:") ? https : http;
  let signal: AbortSignal | undefined;
  let answer: IncomingMessage | undefined;
  return {
    begin(next) {
      signal = next;
      answer = undefined;
    },
    answer: () => answer,
    request: (options: unknown, read: unknown) =>
      request({ ...(options as RequestOptions), ...(signal && { signal }) }, (response) => {
        answer = response;
        (read as (response: IncomingMessage) => void)(response);
      }),
  };
}

function errorOf(
  error: unknown,
  answer: IncomingMessage | undefined,
  doing: string,
  bucket: string,
  signal: AbortSignal | undefined,
): StorageError {
  if (signal?.aborted) return failure(error, doing, signal);
  if (error instanceof Error && error.name === "InvalidBucketNameError") {
    return usage(`the bucket's name ${bucket} is not one that MinIO takes; choose another`);
  }
  const status = answer?.statusCode ?? 0;
  // Of answers that it would ask again for, the client reads no words.
  if (status < 300 || error instanceof StorageError) return failure(error, doing, signal);
  const said = error instanceof Error && error.name === "S3Error";
  const header = (name: string): string | null => [answer?.headers[name] ?? []].flat()[0] ?? null;
  const [code, message] = said ? [codeOf(error), error.message] : ["", ""];
  return refusal({ status, code, message, header }, doing, bucket);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
