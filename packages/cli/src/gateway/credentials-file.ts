import { type Credentials, CredentialsError, parseCredentials } from "@idk/gateway";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { usage } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import { readSecretFile } from "../keys/key-files.ts";
import { writeNewKey } from "../keys/new-identity.ts";
import type { Session } from "../session.ts";

/** Reads the access keys of a gateway. */
export async function readCredentials(path: string, session: Session): Promise<Credentials> {
  const bytes = await readSecretFile(path, "credentials file", session);
  try {
    return parseCredentials(Buffer.from(bytes).toString());
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error;
    throw usage(`the credentials file ${path}: ${error.message}`, error);
  }
}

/** A key pair that was made just now. */
export interface NewCredentials {
  readonly accessKey: string;
  readonly secret: string;
}

/**
 * Makes a credentials file with one key, which may do everything, unless there is one.
 *
 * @returns undefined if there is one
 */
export async function ensureCredentials(path: string): Promise<NewCredentials | undefined> {
  if (existsSync(path)) return undefined;
  await createFolder(dirname(path));
  const accessKey = `IDK${randomBytes(9).toString("hex").toUpperCase().slice(0, 17)}`;
  const secret = randomBytes(30).toString("base64url");
  await writeNewKey(path, "credentials", async () =>
    Buffer.from(`# Keys of idk serve s3\n[keys.${accessKey}]\nsecret = "${secret}"\n`),
  );
  return { accessKey, secret };
}
