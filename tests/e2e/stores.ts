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

export interface Where {
  /** The server's, or that of something before it. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly prefix?: string;
  readonly keys: Pick<S3Server, "accessKeyId" | "secretAccessKey"> & {
    readonly sessionToken?: string;
  };
  /** By default that of the servers. */
  readonly region?: string;
  /** Milliseconds after which a silent server is given up. */
  readonly patience?: number;
}

/** The three adapters, each over any of our servers. They differ in what they expect of it. */
export const openers: Readonly<Record<"s3" | "minio" | "b2", (where: Where) => Backend>> = {
  s3({ endpoint, bucket, prefix, keys, region = REGION, patience = 10_000 }: Where): Backend {
    const timeouts = { firstByte: patience, stall: patience };
    return s3({ endpoint, region, bucket, prefix, credentials: keys, timeouts });
  },
  minio({ endpoint, bucket, prefix, keys, region, patience = 10_000 }: Where): Backend {
    const timeouts = { firstByte: patience, stall: patience };
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = keys;
    return minio({ endpoint, region, bucket, prefix, accessKey, secretKey, timeouts });
  },
  b2({ endpoint, bucket, prefix, keys, region = REGION, patience = 10_000 }: Where): Backend {
    const timeouts = { firstByte: patience, stall: patience };
    const { accessKeyId: keyId, secretAccessKey: applicationKey } = keys;
    return b2({ endpoint, region, bucket, prefix, keyId, applicationKey, timeouts });
  },
};

/** Who writes and reads everything here. */
export const identity: Identity = await generateIdentity();

export function storeOver(backend: Backend, options: Partial<StoreOptions> = {}): Store {
  return createStore({
    backend,
    recipients: [identity.recipient],
    identities: [identity],
    ...options,
  });
}
