import type { RequestOptions } from "node:http";
import { Readable, Writable } from "node:stream";
import { throwIfAborted, untilAborted } from "../../../abort.ts";
import { StorageError, usage } from "../../../errors.ts";
import { type BucketConfig, requirePrintableKeys } from "../bucket-config.ts";
import { startDeadline } from "../../http/deadline.ts";
import { decodeEntities } from "../../http/entities.ts";
import { bucketError, exceptionError, failureCode } from "../http/errors.ts";
import { protocolProbe } from "../http/probes/protocol-probe.ts";
import { serverAddress } from "../http/probes/server-address.ts";
import { sendShort, type ShortResponse } from "../http/short-response.ts";
import { childrenOf, invalidResult, textOf, type XmlElement } from "../http/xml.ts";
import { explainMissing } from "../peer-dependencies.ts";
import { answersOrigin, corsUnsupported } from "./cors.ts";
import {
  encryptionRule,
  type EncryptionRule,
  nameTaken,
  NOT_CONFIGURED,
  type Provisioner,
  type ProvisionerOptions,
  ruleIdOf,
  satisfies,
} from "./provisioner.ts";

/** Uses MinIO's own client, which is loaded when this is called. */
export async function minioProvisioner(
  config: BucketConfig,
  { signal, retrying }: ProvisionerOptions,
): Promise<Provisioner> {
  const { bucket, endpoint = "", region = "", timeouts } = config;
  const url = new URL(endpoint);
  const server = serverAddress(url).text;
  const protocol = protocolProbe(url, config);
  const action = `prepare the bucket ${bucket}`;
  const transport = transportFor(config);
  const client = await clientFor(config, transport);
  const call = <T>(run: () => Promise<T>): Promise<T> =>
    retrying(async () => {
      throwIfAborted(signal);
      const deadline = startDeadline(signal, timeouts.firstByte + timeouts.stall, action, server);
      transport.useSignal(deadline.signal);
      try {
        return await untilAborted(run(), deadline.signal);
      } catch (error) {
        // An abandoned request must not keep the process alive.
        deadline.cancel();
        if (deadline.error !== undefined) throw deadline.error;
        const response = transport.lastResponse();
        const failure = response?.status ?? failureCode(error);
        const mismatch = await untilAborted(protocol.mismatch(failure, action), signal);
        throw mismatch ?? clientError(error, response, { action, bucket, signal, server });
      } finally {
        deadline.end();
      }
    });
  /** A setting of the bucket, or undefined if it is not configured. */
  const getSetting = <T>(run: () => Promise<T>): Promise<T | undefined> =>
    call(() =>
      run().catch((error: unknown) => {
        if (NOT_CONFIGURED.has(codeOf(error))) return undefined;
        throw error;
      }),
    );
  const ruleId = ruleIdOf(config);
  /** As the server has them: the client makes numbers of texts such as 007, and trims them. */
  const lifecycleRules = async (): Promise<XmlElement[]> => {
    const read = () => client.getBucketLifecycle(bucket).then(() => transport.lastResponse());
    const response = await getSetting(read);
    if (response === undefined) return [];
    const { parseXml } = await import("../http/parse-xml.ts");
    const root = parseXml(Buffer.from(response.body).toString());
    // The next request would delete the rules that another document does not show.
    if (root?.name !== LIFECYCLE) throw invalidResult(action, `GetBucket${LIFECYCLE}`);
    return childrenOf(root, "Rule");
  };

  return {
    exists: () => call(() => client.bucketExists(bucket)),
    create: (objectLock) =>
      call(() =>
        client.makeBucket(bucket, region, { ObjectLocking: objectLock }).then(
          () => true,
          (error: unknown) => {
            if (codeOf(error) === "BucketAlreadyOwnedByYou") return false;
            throw codeOf(error) === "BucketAlreadyExists" ? nameTaken(bucket) : error;
          },
        ),
      ),
    async hasVersioning() {
      // The client's types declare a result, but other XML has none.
      const get = (): Promise<{ readonly Status?: string } | undefined> =>
        client.getBucketVersioning(bucket);
      const result = await call(get);
      if (result === undefined) throw invalidResult(action, "GetBucketVersioning");
      return result.Status === "Enabled";
    },
    setVersioning: () => call(() => client.setBucketVersioning(bucket, { Status: "Enabled" })),
    async hasObjectLock() {
      // The client's types declare no result.
      const get = () => client.getObjectLockConfig(bucket) as unknown as Promise<object | null>;
      return "objectLockEnabled" in ((await getSetting(get)) ?? {});
    },
    async hasLifecycle(days) {
      return (await lifecycleRules()).some((rule) => {
        const [expiration] = childrenOf(rule, "NoncurrentVersionExpiration");
        return (
          textOf(rule, "ID") === ruleId &&
          textOf(rule, "Status") === "Enabled" &&
          expiration !== undefined &&
          textOf(expiration, "NoncurrentDays") === String(days)
        );
      });
    },
    async setLifecycle(days) {
      // The request replaces all rules, so it contains the others too.
      const all = await lifecycleRules();
      const others = all.filter((rule) => textOf(rule, "ID") !== ruleId).map(objectOf);
      const rule = {
        ID: ruleId,
        Status: "Enabled",
        Filter: { Prefix: config.keyPrefix },
        NoncurrentVersionExpiration: { NoncurrentDays: days },
      };
      // The client's types declare fewer members than a rule can have.
      const rules = { Rule: [...others, rule] } as Parameters<typeof client.setBucketLifecycle>[1];
      await call(() => client.setBucketLifecycle(bucket, rules));
    },
    async hasEncryption(encryption) {
      const result = (await getSetting(() => client.getBucketEncryption(bucket))) as
        | EncryptionResult
        | undefined;
      const rules = [result?.ServerSideEncryptionConfiguration?.Rule ?? []].flat();
      return rules.some((rule) => satisfies(rule.ApplyServerSideEncryptionByDefault, encryption));
    },
    async setEncryption(encryption) {
      const rule = { ApplyServerSideEncryptionByDefault: encryptionRule(encryption) };
      await call(() => client.setBucketEncryption(bucket, { Rule: [rule] }));
    },
    hasCors: (origin) =>
      call(() => answersOrigin(`${endpoint}/${bucket}/`, origin, transport.signal())),
    // Its server has one setting for all buckets, which its clients cannot change.
    setCors: async (origin) => {
      throw corsUnsupported(config, origin);
    },
    // The client closes its connections by itself.
    close: () => undefined,
  };
}

const LIFECYCLE = "LifecycleConfiguration";

/** An element as the client writes it: its text, or its children by name. */
function objectOf({ text, children }: XmlElement): unknown {
  if (children.length === 0) return decodeEntities(text);
  const names = [...new Set(children.map(({ name }) => name))];
  return Object.fromEntries(
    names.map((name) => [name, children.filter((child) => child.name === name).map(objectOf)]),
  );
}

/** The client has no type for it. A single rule is not in an array. */
interface EncryptionResult {
  readonly ServerSideEncryptionConfiguration?: {
    readonly Rule?: DefaultRule | readonly DefaultRule[];
  };
}

interface DefaultRule {
  readonly ApplyServerSideEncryptionByDefault?: EncryptionRule;
}

async function clientFor(
  { endpoint = "", region = "", credentials }: BucketConfig,
  transport: Transport,
) {
  if (typeof credentials !== "object") throw new TypeError("MinIO's credentials are an object");
  const { Client } = await import("minio").catch(
    explainMissing("provisioning on MinIO", ["minio"]),
  );
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
    // The client would print a warning before each retry.
    retryOptions: { disableRetry: true },
    transport: transport as never,
  });
}

/** Sends the client's requests. */
interface Transport {
  request(options: RequestOptions, read: (response: Readable) => void): Writable;
  /** Further requests end when this signal fires. */
  useSignal(signal: AbortSignal): void;
  /** That signal. */
  signal(): AbortSignal | undefined;
  /** The last response since then; the client's errors lack its status and headers. */
  lastResponse(): ShortResponse | undefined;
}

/** The request of a method of `node:http`, as far as the client needs it. */
function transportFor({ endpoint = "" }: BucketConfig): Transport {
  let signal: AbortSignal | undefined;
  let last: ShortResponse | undefined;
  const send = async (
    { method = "", path = "", headers = {} }: RequestOptions,
    body: Uint8Array,
  ): Promise<Readable> => {
    const url = `${endpoint}${path}`;
    // The client makes strings of all headers.
    const texts = headers as Readonly<Record<string, string>>;
    last = await sendShort({ url, method, headers: texts, body, signal });
    const response = Readable.from(last.body.length === 0 ? [] : [last.body]);
    return Object.assign(response, { statusCode: last.status, headers: last.headers });
  };
  return {
    useSignal(next) {
      signal = next;
      last = undefined;
    },
    signal: () => signal,
    lastResponse: () => last,
    request(options, read) {
      const body: Uint8Array[] = [];
      return new Writable({
        write(chunk: Uint8Array, _, done) {
          body.push(chunk);
          done();
        },
        async final(done) {
          try {
            read(await send(options, Buffer.concat(body)));
            done();
          } catch (error) {
            done(error as Error);
          }
        },
      });
    },
  };
}

/** What failed, for its error. */
interface Attempt {
  readonly action: string;
  readonly bucket: string;
  readonly signal: AbortSignal | undefined;
  readonly server: string;
}

function clientError(
  error: unknown,
  response: ShortResponse | undefined,
  { action, bucket, signal, server }: Attempt,
): StorageError {
  const exception = () => exceptionError(error, action, signal, server);
  if (signal?.aborted) return exception();
  if (error instanceof Error && error.name === "InvalidBucketNameError") {
    return usage(`the bucket's name ${bucket} is not valid on MinIO; choose another`);
  }
  const status = response?.status ?? 0;
  if (status < 300 || error instanceof StorageError) return exception();
  // The client does not parse the body of responses that it considers worth a retry.
  const parsed = error instanceof Error && error.name === "S3Error";
  const header = (name: string): string | null => response?.headers[name] ?? null;
  const [code, message] = parsed ? [codeOf(error), error.message] : ["", ""];
  return bucketError({ status, code, message, header }, action, bucket);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
