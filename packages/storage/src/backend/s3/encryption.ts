import { nodeCrypto } from "../../crypto/node-crypto.ts";
import { foreignText } from "../../text.ts";
import type { Encryption } from "./bucket-config.ts";

type HeaderValues = Readonly<Record<string, string>>;

/** The encryption headers of an upload. */
export function uploadHeaders(encryption: Encryption | undefined): HeaderValues {
  if (encryption === undefined) return {};
  if (encryption.type === "SSE-C") return customerKeyHeaders(encryption.key);
  const headers = { "x-amz-server-side-encryption": encryption.type };
  if (encryption.type !== "aws:kms" || encryption.keyId === undefined) return headers;
  return { ...headers, "x-amz-server-side-encryption-aws-kms-key-id": encryption.keyId };
}

/** The encryption headers of a GET or HEAD: only SSE-C needs its key again. */
export function readHeaders(encryption: Encryption | undefined): HeaderValues {
  return encryption?.type === "SSE-C" ? customerKeyHeaders(encryption.key) : {};
}

function customerKeyHeaders(key: Uint8Array): HeaderValues {
  const prefix = "x-amz-server-side-encryption-customer";
  return {
    [`${prefix}-algorithm`]: "AES256",
    [`${prefix}-key`]: Buffer.from(key).toString("base64"),
    // The protocol requires MD5 as a transmission check; no security depends on it.
    [`${prefix}-key-md5`]: nodeCrypto()!.createHash("md5").update(key).digest("base64"),
  };
}

/** How a blob is encrypted at rest, according to the response. */
export function encryptionIn(headers: { get(name: string): string | null }): string | undefined {
  const customer = headers.get("x-amz-server-side-encryption-customer-algorithm");
  if (customer !== null) return `SSE-C ${foreignText(customer)}`;
  const provider = headers.get("x-amz-server-side-encryption");
  return provider === null ? undefined : foreignText(provider);
}
