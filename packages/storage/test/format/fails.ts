import { expect } from "bun:test";
import { type ErrorCode, StorageError } from "../../src/errors.ts";

/** Expects a call to throw a StorageError of this code, and returns it. */
export function fails(call: () => unknown, code: ErrorCode, part = ""): StorageError {
  let error: unknown = new Error(`the call succeeded, where ${code} was expected`);
  try {
    call();
  } catch (thrown) {
    error = thrown;
  }
  return expectError(error, code, part);
}

/** Expects a promise to reject with a StorageError of this code, and returns it. */
export async function rejects(
  promise: Promise<unknown>,
  code: ErrorCode,
  part = "",
): Promise<StorageError> {
  const error: unknown = await promise.then(
    () => new Error(`the call succeeded, where ${code} was expected`),
    (reason: unknown) => reason,
  );
  return expectError(error, code, part);
}

function expectError(error: unknown, code: ErrorCode, part: string): StorageError {
  if (!(error instanceof StorageError)) throw error;
  expect(error.code).toBe(code);
  expect(error.message).toContain(part);
  return error;
}
