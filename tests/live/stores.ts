import {
  type Backend,
  type Identity,
  type Store,
  type StoreOptions,
  createStore,
  generateIdentity,
} from "@idk/storage";
import { REGION, type S3Server } from "../servers/s3-servers.ts";
import { b2 } from "@idk/storage/b2";
import { minio } from "@idk/storage/minio";
import { s3 } from "@idk/storage/s3";

export interface BucketAccess {
  /** Of the server, or of a proxy in front of it. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix?: string;
  readonly keys: Pick<S3Server, "accessKeyId" | "secretAccessKey"> & {
    readonly sessionToken?: string;
  };
  /** By default the region of the test servers. */
  readonly region?: string;
  /** Milliseconds that a server may stay silent: timeouts.firstByte and timeouts.stall. */
  readonly timeoutMs?: number;
}

/** The three S3 adapters, each of which can open a bucket on any of the test servers. */
export const openBackend: Readonly<
  Record<"s3" | "minio" | "b2", (where: BucketAccess) => Backend>
> = {
  s3({ endpoint, bucket, prefix, keys, region = REGION, timeoutMs = 10_000 }) {
    const timeouts = { firstByte: timeoutMs, stall: timeoutMs };
    return s3({ endpoint, region, bucket, prefix, credentials: keys, timeouts });
  },
  minio({ endpoint, bucket, prefix, keys, region, timeoutMs = 10_000 }) {
    const timeouts = { firstByte: timeoutMs, stall: timeoutMs };
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = keys;
    return minio({ endpoint, region, bucket, prefix, accessKey, secretKey, timeouts });
  },
  b2({ endpoint, bucket, prefix, keys, region = REGION, timeoutMs = 10_000 }) {
    const timeouts = { firstByte: timeoutMs, stall: timeoutMs };
    const { accessKeyId: keyId, secretAccessKey: applicationKey } = keys;
    return b2({ endpoint, region, bucket, prefix, keyId, applicationKey, timeouts });
  },
};

/** The writer and reader of all stores here. */
export const identity: Identity = await generateIdentity();

export function storeOver(backend: Backend, options: Partial<StoreOptions> = {}): Store {
  return createStore({
    backend,
    recipients: [identity.recipient],
    identities: [identity],
    ...options,
  });
}
