import {
  type Backend,
  createStore,
  type Retry,
  type RetryOptions,
  type Store,
  type StoreOptions,
  withRetry,
  wrapBackend,
} from "@idk/storage";
import type { BucketLocation } from "@idk/storage/provision";
import type { EncryptionSetting, ObjectLocation, StoreLocation } from "@idk/storage/url";
import { messageOf, usage } from "../errors/failures.ts";
import { readSecretBytes } from "../keys/key-files.ts";
import type { Output } from "../output/output.ts";
import type { Session } from "../session.ts";

/** Opens the store. Loads only the code of its backend. */
export async function openStore(
  location: StoreLocation,
  session: Session,
  options: Omit<StoreOptions, "backend"> = {},
): Promise<Store> {
  return createStore({ ...options, backend: await openBackend(location, session) });
}

/** A backend that is closed at the end of a block. */
export type OpenBackend = Backend & AsyncDisposable;

/** Opens the backend, with retries for object stores. */
export async function openBackend(location: StoreLocation, session: Session): Promise<OpenBackend> {
  const backend =
    location.kind === "filesystem"
      ? // A disk error is permanent: do not retry.
        (await import("@idk/storage/filesystem")).filesystem(location.folder, {
          durability: location.durability,
        })
      : await withRetries(await openObjectStore(location, session), location, session);
  return { ...wrapBackend(backend), [Symbol.asyncDispose]: async () => backend.close?.() };
}

async function withRetries(
  backend: Backend,
  location: ObjectLocation,
  session: Session,
): Promise<Backend> {
  return withRetry(backend, await retryOptions(location, session));
}

/** The retry policy of an object store. */
export async function retryOptions(
  { kind, retrySeconds }: ObjectLocation,
  session: Pick<Session, "out" | "progress">,
): Promise<RetryOptions> {
  return {
    ...(kind === "b2" && (await import("@idk/storage/b2")).B2_RETRY),
    ...(retrySeconds !== undefined && {
      budgetMs: 1000 * retrySeconds,
      // The library makes a minimum number of attempts whatever the budget. 0 seconds must mean no
      // retry.
      minAttempts: retrySeconds === 0 ? 1 : undefined,
    }),
    onRetry: retryObserver(session),
  };
}

/** Server-side encryption with its key, as the backends take it. */
type Encryption =
  | Exclude<EncryptionSetting, { readonly type: "SSE-C" }>
  | { readonly type: "SSE-C"; readonly key: Uint8Array };

/** Opens a bucket without sending a request. Loads only the module of its provider. */
export async function openObjectStore(
  location: ObjectLocation,
  session: Session,
): Promise<Backend> {
  const options = await bucketOptions(location, session);
  if (options.provider === "s3") return (await import("@idk/storage/s3")).s3(options);
  if (options.provider === "minio") return (await import("@idk/storage/minio")).minio(options);
  return (await import("@idk/storage/b2")).b2(options);
}

/** The options of a provider's backend. Reads the SSE-C key file, if there is one. */
export async function bucketOptions(
  location: ObjectLocation,
  session: Session,
): Promise<BucketLocation> {
  const { bucket, prefix } = location;
  const encryption = await loadEncryption(location.encryption, session);
  const common = { bucket, prefix, encryption };
  switch (location.kind) {
    case "s3": {
      const { endpoint, region } = location;
      return { provider: "s3", ...common, endpoint, region };
    }
    case "minio": {
      const { host, port, tls, accessKey, secretKey, sessionToken } = location;
      if (location.plaintext) await warnOfPlaintext(host, session);
      const keys = { accessKey, secretKey, sessionToken };
      return { provider: "minio", ...common, ...keys, host, port, tls };
    }
    case "b2": {
      const { endpoint, region, accessKeyId: keyId, secretAccessKey: applicationKey } = location;
      const keys = { keyId, applicationKey };
      return {
        provider: "b2",
        bucket,
        prefix,
        ...keys,
        encryption: b2Encryption(encryption),
        endpoint,
        region,
      };
    }
    default:
      return location satisfies never;
  }
}

const warned = new WeakSet<Output>();

/** Once per run, and as text, which programs do not expect. */
async function warnOfPlaintext(host: string, { out }: Session): Promise<void> {
  if (out.json || warned.has(out)) return;
  warned.add(out);
  await out.note(
    `idk: no TLS to ${host}: others on the network can see what is stored and when; use tls=1 if the server has a certificate`,
  );
}

function b2Encryption(
  encryption: Encryption | undefined,
): Exclude<Encryption, { readonly type: "aws:kms" }> | undefined {
  if (encryption?.type === "aws:kms") throw usage("B2 does not support aws:kms");
  return encryption;
}

async function loadEncryption(
  setting: EncryptionSetting | undefined,
  session: Session,
): Promise<Encryption | undefined> {
  if (setting?.type !== "SSE-C") return setting;
  const { key } = setting;
  if (key instanceof Uint8Array) return { type: "SSE-C", key };
  return { type: "SSE-C", key: await readSecretBytes(key.file, "SSE-C key file", session) };
}

const INTERVAL = 1000;

/**
 * Prints a note about retries, at most once a second and only from the second retry on, because a
 * single failure is normal. Programs get the number of retries with the progress.
 */
export function retryObserver({
  out,
  progress,
}: Pick<Session, "out" | "progress">): (retry: Retry) => void {
  let last = Number.NEGATIVE_INFINITY;
  return ({ attempt, delayMs, error }) => {
    progress.retried();
    const now = performance.now();
    if (out.json || attempt < 2 || now - last < INTERVAL) return;
    last = now;
    const seconds = (delayMs / 1000).toFixed(1);
    void out.note(`idk: retrying in ${seconds} s: ${messageOf(error)}`);
  };
}
