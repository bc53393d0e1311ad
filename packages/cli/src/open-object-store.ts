import type { Backend } from "@idk/storage";
import type { BucketLocation } from "@idk/storage/provision";
import type { EncryptionSetting, ObjectLocation } from "@idk/storage/url";
import { readSecretBytes } from "./secret-bytes.ts";
import type { Session } from "./session.ts";
import { usage } from "./failures.ts";

/** Server-side encryption with the key at hand, as the backends take it. */
type Encryption =
  | Exclude<EncryptionSetting, { readonly type: "SSE-C" }>
  | { readonly type: "SSE-C"; readonly key: Uint8Array };

/** Opens a bucket, without asking for anything yet. Only the module of its provider is loaded. */
export async function openObjectStore(
  location: ObjectLocation,
  session: Session,
): Promise<Backend> {
  const options = await bucketOptions(location, session);
  if (options.provider === "s3") return (await import("@idk/storage/s3")).s3(options);
  if (options.provider === "minio") return (await import("@idk/storage/minio")).minio(options);
  return (await import("@idk/storage/b2")).b2(options);
}

/** The options of a provider's backend. Reads the file of an SSE-C key, if there is one. */
export async function bucketOptions(
  location: ObjectLocation,
  session: Session,
): Promise<BucketLocation> {
  const { bucket, prefix } = location;
  const encryption = await loadEncryption(location.encryption, session);
  const place = { bucket, prefix, encryption };
  switch (location.kind) {
    case "s3": {
      const { endpoint, region } = location;
      return { provider: "s3", ...place, endpoint, region };
    }
    case "minio": {
      const { host, port, tls, accessKey, secretKey, sessionToken } = location;
      const keys = { accessKey, secretKey, sessionToken };
      return { provider: "minio", ...place, ...keys, host, port, tls };
    }
    case "b2": {
      const { endpoint, region, accessKeyId: keyId, secretAccessKey: applicationKey } = location;
      const keys = { keyId, applicationKey };
      return {
        provider: "b2",
        bucket,
        prefix,
        ...keys,
        encryption: ofB2(encryption),
        endpoint,
        region,
      };
    }
    default:
      return location satisfies never;
  }
}

function ofB2(
  encryption: Encryption | undefined,
): Exclude<Encryption, { readonly type: "aws:kms" }> | undefined {
  if (encryption?.type === "aws:kms") throw usage("B2 has no key management");
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
