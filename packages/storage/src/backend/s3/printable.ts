import { usage } from "../../errors.ts";

/**
 * Checks what is to become a header, or a part of one. Runtimes refuse the rest too, but quote it
 * in their errors, and it may be a secret.
 *
 * @param what names it, for the message
 * @throws StorageError `usage`
 */
export function requirePrintable(what: string, value: string | undefined): void {
  if (value === undefined || /^[\u0020-\u007E]*$/u.test(value)) return;
  throw usage(`${what} has characters other than printable ASCII, such as a line break; check it`);
}

/** @throws StorageError `usage` */
export function requirePrintableKeys(keys: {
  readonly accessKeyId: string;
  readonly sessionToken?: string | undefined;
}): void {
  requirePrintable("the access key", keys.accessKeyId);
  requirePrintable("the session token", keys.sessionToken);
}
