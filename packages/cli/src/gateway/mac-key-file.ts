import { macKeyOf } from "@idk/gateway";
import type { Identity } from "@idk/storage";
import { createHmac, timingSafeEqual } from "node:crypto";
import { usage } from "../errors/failures.ts";
import { readSecretFile } from "../keys/key-files.ts";
import type { Session } from "../session.ts";

/*
 * The file that gives a write-only gateway its MAC key. Any 32 bytes would do to start it, and only a rebuild
 * would show, when the catalog is lost, that nothing in the store is authentic. So the file names the
 * recipient of the identity that the key follows from, and has a check value that binds both.
 */

/** A key that authenticates what a gateway stores. */
export interface MacKey {
  /** 32 bytes, secret. */
  readonly key: Uint8Array;
  /** Of the identity that the key follows from, which can rebuild the catalog. */
  readonly recipient: string;
}

const HEADER = "idk MAC key, version 1";
const FORM = new RegExp(
  String.raw`^${HEADER}\r?\nrecipient: (idk1[0-9a-z]+)\r?\nkey: ([0-9a-f]{64})\r?\ncheck: ([0-9a-f]{64})\s*$`,
  "u",
);
const HOW = "write it with `idk gateway mac-key -o FILE`, where the identity is";

/** The content of the file for an identity. Secret. */
export function formatMacKey(identity: Identity): string {
  const { recipient } = identity;
  const key = macKeyOf(identity);
  const lines = [
    HEADER,
    `recipient: ${recipient}`,
    `key: ${Buffer.from(key).toString("hex")}`,
    `check: ${checkOf({ key, recipient }).toString("hex")}`,
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Reads the file.
 *
 * @throws Failure `usage` if it is not one that `formatMacKey` made
 */
export async function loadMacKey(
  file: string | undefined,
  session: Session,
): Promise<MacKey | undefined> {
  if (file === undefined) return undefined;
  const bytes = await readSecretFile(file, "MAC key file", session);
  const [, recipient, key, check] = FORM.exec(Buffer.from(bytes).toString("latin1")) ?? [];
  if (recipient === undefined || key === undefined || check === undefined) {
    throw usage(`${file} is not a MAC key file: ${HOW}`);
  }
  const macKey = { key: Buffer.from(key, "hex"), recipient };
  if (!timingSafeEqual(checkOf(macKey), Buffer.from(check, "hex"))) {
    throw usage(`the MAC key file ${file} is damaged, or was edited: ${HOW}`);
  }
  return macKey;
}

/**
 * Requires that a gateway seals for the identity that its MAC key follows from. Otherwise no identity could
 * both decrypt and authenticate what it stores, and a lost catalog could not be rebuilt.
 *
 * @param recipients those that the gateway seals for
 * @throws Failure `usage`
 */
export function requireReader({ recipient }: MacKey, recipients: readonly string[]): void {
  if (recipients.includes(recipient)) return;
  throw usage(
    `the MAC key is that of ${recipient}, which is not among the recipients, so that nobody could rebuild the catalog: ` +
      `name this recipient with -r, or use the MAC key of one that you name: ${HOW}`,
  );
}

function checkOf({ key, recipient }: MacKey): Buffer {
  return createHmac("sha256", key).update(`idk/s3/mac-key-file\n${recipient}`).digest();
}
