import { createHash } from "node:crypto";
import type { Encryption } from "./place.ts";

type Headers = Readonly<Record<string, string>>;

/** The headers of an upload. */
export function uploadHeaders(encryption: Encryption | undefined): Headers {
  if (encryption === undefined) return {};
  if (encryption.type === "SSE-C") return customerKeyHeaders(encryption.key);
  const asked = { "x-amz-server-side-encryption": encryption.type };
  if (encryption.type !== "aws:kms" || encryption.keyId === undefined) return asked;
  return { ...asked, "x-amz-server-side-encryption-aws-kms-key-id": encryption.keyId };
}

/** The headers of a download and of a look: only who brought the key has to bring it again. */
export function accessHeaders(encryption: Encryption | undefined): Headers {
  return encryption?.type === "SSE-C" ? customerKeyHeaders(encryption.key) : {};
}

function customerKeyHeaders(key: Uint8Array): Headers {
  const prefix = "x-amz-server-side-encryption-customer";
  return {
    [`${prefix}-algorithm`]: "AES256",
    [`${prefix}-key`]: Buffer.from(key).toString("base64"),
    // A transmission check that the protocol demands; nothing rests on MD5.
    [`${prefix}-key-md5`]: createHash("md5").update(key).digest("base64"),
  };
}

/** How a blob is encrypted at rest, as the store says. */
export function encryptionIn(headers: { get(name: string): string | null }): string | undefined {
  const own = headers.get("x-amz-server-side-encryption-customer-algorithm");
  if (own !== null) return `SSE-C ${own}`;
  return headers.get("x-amz-server-side-encryption") ?? undefined;
}
