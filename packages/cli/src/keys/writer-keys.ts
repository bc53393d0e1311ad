import {
  formatWriterKey,
  isProtectedWriterFile,
  protectWriterKey,
  readWriterFile,
  type Writer,
  type WriterKey,
  writerKeyFromSeed,
} from "@idk/snapshots";
import { loadNaCl, type ProtectOptions, StorageError } from "@idk/storage";
import { Failure } from "../errors/failures.ts";
import type { Session } from "../session.ts";
import { promptPassphrase } from "./identities.ts";
import { readSecretFile } from "./key-files.ts";
import type { KeyKind } from "./key-kinds.ts";
import { writeNewKey } from "./new-identity.ts";

/** Reads the file of a writer key. Prompts for its passphrase unless the environment has it. */
export async function loadWriterKey(
  path: string,
  passphrase: string | undefined,
  session: Session,
): Promise<WriterKey> {
  // Whoever signs seals, too, and Bun loads `node:crypto` more slowly.
  await loadNaCl();
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
 * @param armor whether to write a protected key as text
 */
export async function writeNewWriterKey(
  path: string,
  passphrase: (() => Promise<string>) | undefined,
  armor = false,
): Promise<Writer> {
  const key = writerKeyFromSeed(crypto.getRandomValues(new Uint8Array(SEED_LENGTH)));
  await writeNewKey(path, "writer keys", async () =>
    passphrase === undefined
      ? writerKeyText(key)
      : await protectNewly(key, await passphrase(), { armor }),
  );
  return key.writer;
}

function writerKeyText(key: WriterKey): Uint8Array {
  return Buffer.from(`# writer: ${key.writer}\n${formatWriterKey(key)}\n`);
}

async function protectNewly(
  key: WriterKey,
  passphrase: string,
  options: ProtectOptions,
): Promise<Uint8Array> {
  const salt = crypto.getRandomValues(new Uint8Array(SALT_LENGTH));
  return protectWriterKey(key, passphrase, salt, options);
}

/** Writer keys, for what works alike with identities. */
export const WRITER_KEYS: KeyKind = {
  name: "writer key",
  isProtected: isProtectedWriterFile,
  async open(bytes, passphrase) {
    const key = await readWriterFile(bytes, passphrase);
    return {
      publicKey: { writer: key.writer },
      text: () => writerKeyText(key),
      protect: async (next, armor) => protectNewly(key, next, { armor, replaces: bytes }),
    };
  },
};
