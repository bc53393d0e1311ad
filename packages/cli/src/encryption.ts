import type { Environment, Session } from "./session.ts";
import { readSecretBytes, secretFromHex } from "./secret-bytes.ts";

/** How the provider is asked to encrypt, on top of what idk has encrypted already. */
export type EncryptionSetting =
  | { readonly type: "AES256" }
  | { readonly type: "aws:kms"; readonly keyId?: string }
  | { readonly type: "SSE-C"; readonly key: Uint8Array | { readonly file: string } };

/** The same with the key at hand, as the backends take it. */
export type Encryption =
  | Exclude<EncryptionSetting, { readonly type: "SSE-C" }>
  | { readonly type: "SSE-C"; readonly key: Uint8Array };

/** Of a store's URL. */
export const ENCRYPTION_PARAMETERS: readonly string[] = ["sse", "kms-key", "sse-c-key"];

/** What a URL says goes before the variable, so that two stores of one run can differ. */
export function readEncryption(
  query: ReadonlyMap<string, string>,
  env: Environment,
): EncryptionSetting | undefined {
  const [sse, keyId, file] = ENCRYPTION_PARAMETERS.map((name) => query.get(name));
  if (keyId !== undefined && sse !== "aws:kms") throw new Error("has kms-key without sse=aws:kms");
  if (file !== undefined) {
    if (sse !== undefined) throw new Error("has both sse and sse-c-key, which exclude each other");
    return { type: "SSE-C", key: { file } };
  }
  switch (sse) {
    case undefined:
      return fromEnvironment(env["IDK_SSE_C_KEY"] || undefined);
    case "AES256":
      return { type: "AES256" };
    case "aws:kms":
      return keyId === undefined ? { type: "aws:kms" } : { type: "aws:kms", keyId };
    default:
      throw new Error("must have AES256 or aws:kms for sse");
  }
}

function fromEnvironment(text: string | undefined): EncryptionSetting | undefined {
  if (text === undefined) return undefined;
  const key = secretFromHex(text);
  if (key === undefined) throw new Error("needs 64 hexadecimal digits in IDK_SSE_C_KEY");
  return { type: "SSE-C", key };
}

/** Reads the file of an SSE-C key, if there is one to read. */
export async function loadEncryption(
  setting: EncryptionSetting | undefined,
  session: Session,
): Promise<Encryption | undefined> {
  if (setting?.type !== "SSE-C") return setting;
  const { key } = setting;
  if (key instanceof Uint8Array) return { type: "SSE-C", key };
  return { type: "SSE-C", key: await readSecretBytes(key.file, "SSE-C key file", session) };
}
