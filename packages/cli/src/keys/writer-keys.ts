import {
  formatWriterKey,
  protectWriterKey,
  readWriterFile,
  type Writer,
  type WriterKey,
  writerKeyFromSeed,
} from "@idk/snapshots";
import { StorageError } from "@idk/storage";
import { randomBytes } from "node:crypto";
import { Failure } from "../errors/failures.ts";
import type { Session } from "../session.ts";
import { promptPassphrase } from "./identities.ts";
import { readSecretFile } from "./key-files.ts";
import { writeNewKey } from "./new-identity.ts";

/** Reads the file of a writer key. Prompts for its passphrase unless the environment has it. */
export async function loadWriterKey(
  path: string,
  passphrase: string | undefined,
  session: Session,
): Promise<WriterKey> {
  const bytes = await readSecretFile(path, "writer key file", session);
  const name = `writer key file ${path}`;
  try {
    return await readWriterFile(bytes, passphrase ?? (() => promptPassphrase(name, session)));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new Failure(error.code, `${name}: ${error.message}`, error);
  }
}

const SEED_LENGTH = 32;
const SALT_LENGTH = 16;

/**
 * Creates a writer key in a new file that only its owner can read.
 *
 * @param passphrase returns the passphrase; undefined for an unprotected key
 */
export async function writeNewWriterKey(
  path: string,
  passphrase: (() => Promise<string>) | undefined,
): Promise<Writer> {
  const key = writerKeyFromSeed(randomBytes(SEED_LENGTH));
  await writeNewKey(path, "writer keys", async () =>
    passphrase === undefined
      ? Buffer.from(`# writer: ${key.writer}\n${formatWriterKey(key)}\n`)
      : await protectWriterKey(key, await passphrase(), randomBytes(SALT_LENGTH)),
  );
  return key.writer;
}
