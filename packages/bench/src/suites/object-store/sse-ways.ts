/** With what an upload is compared: the server's own encryption, or another kind of it. */
import { randomBytes } from "node:crypto";
import { freshName, randomContent, sha256 } from "../../harness/content.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { type Encryption, openBackend } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess } from "../../suite.ts";

export interface Ways {
  /** "plain", or "default" if the bucket encrypts every upload. */
  readonly base: string;
  /** "SSE", "SSE-C" or "SSE-KMS". */
  readonly head: string;
  readonly encryption: Encryption;
  /** What `encryptionOf` returns for objects of either way. */
  readonly expected: { readonly base: string; readonly head: string };
  readonly note: string;
}

/**
 * Compares uploads without encryption with keys of the server (AES256). If the bucket encrypts them
 * anyway, with a key of ours (SSE-C), or else with a managed key (aws:kms).
 *
 * @throws Error if the bucket encrypts every upload and the server supports no other encryption
 */
export async function chooseWays(access: ObjectStoreAccess): Promise<Ways> {
  const base = await trialOf(access);
  if (base === "none") {
    const expected = { base, head: "AES256" };
    const note = "plain objects are not encrypted by the server, those with SSE are (AES256)";
    return { base: "plain", head: "SSE", encryption: { type: "AES256" }, expected, note };
  }
  const others: [name: string, head: string, encryption: Encryption][] = [
    ["SSE-C", "SSE-C", { type: "SSE-C", key: randomBytes(32) }],
    ["SSE-KMS", "aws:kms", { type: "aws:kms" }],
  ];
  const refusals: string[] = [];
  for (const [name, head, encryption] of others) {
    if (head === base || (head === "aws:kms" && access.provider === "b2")) continue;
    try {
      const found = await trialOf(access, encryption);
      if (found !== head) throw new Error(`the server stored it with ${found}`);
      const expected = { base, head };
      const note = `this bucket encrypts every upload (${base}), so that uploads without encryption cannot be measured: "default" is its own encryption, and ${name} is compared with it`;
      return { base: "default", head: name, encryption, expected, note };
    } catch (error) {
      refusals.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `this bucket encrypts every upload (${base}), and no other encryption can be compared with it: ` +
      `${refusals.join("; ")}; use a bucket without default encryption, or an https:// endpoint for SSE-C`,
  );
}

/** Uploads an object and returns how the server stored it. */
async function trialOf(access: ObjectStoreAccess, encryption?: Encryption): Promise<string> {
  const backend = openBackend(access, { encryption });
  try {
    const [name, content] = [freshName(), randomContent(1000)];
    await backend.put(name, content, { sha256: sha256(content) });
    return await encryptionOf(access, name);
  } finally {
    await backend.close?.();
  }
}

/**
 * How the server stored an object, by its answer to a bare request: "none", "AES256", "aws:kms", or
 * "SSE-C", for which it rejects a request without the key.
 */
export async function encryptionOf(access: ObjectStoreAccess, name: string): Promise<string> {
  try {
    const { head } = bareS3(access, { attempts: 8 });
    return (await head(name)).get("x-amz-server-side-encryption") ?? "none";
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("HEAD failed with 400")) return "SSE-C";
    throw error;
  }
}
