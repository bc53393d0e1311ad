import { expect } from "bun:test";
import { type ErrorCode, StorageError } from "../../src/errors.ts";

/** Expects a failure of this code, whose message holds the part. Returns it for a closer look. */
export async function rejects(
  call: Promise<unknown>,
  code: ErrorCode,
  part = "",
): Promise<StorageError> {
  const error = await call.then(
    () => new Error(`the call succeeded, where ${code} was expected`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw error;
  // Of a copy: the matcher comes to stand in the object, in place of the message.
  const said = { code: error.code, message: error.message };
  expect(said).toMatchObject({ code, message: expect.stringContaining(part) });
  return error;
}
