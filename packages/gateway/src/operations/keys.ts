import { S3Error } from "../errors.ts";

/** The most bytes of an object's key. */
export const KEY_MAX = 1024;

/** @throws S3Error `KeyTooLongError` */
export function checkKey(key: Uint8Array): void {
  if (key.length <= KEY_MAX) return;
  throw new S3Error("KeyTooLongError", undefined, {
    details: { Size: key.length, MaxSizeAllowed: KEY_MAX },
  });
}
