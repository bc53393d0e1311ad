import { expect } from "bun:test";
import { type ErrorCode, StorageError } from "../../src/errors.ts";

/** Expects a StorageError with this code and this part in its message, and returns it. */
export async function rejects(
  call: Promise<unknown>,
  code: ErrorCode,
  part = "",
): Promise<StorageError> {
  const error = await call.then(
    () => new Error(`the call succeeded, but ${code} was expected`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw error;
  // A copy, because the matcher replaces the message in the object it is given.
  const said = { code: error.code, message: error.message };
  expect(said).toMatchObject({ code, message: expect.stringContaining(part) });
  return error;
}
