import { type S3ErrorCode, S3Error } from "../src/errors.ts";
import { expect } from "bun:test";

/** The error of a call that has to fail. */
export function errorOf(run: () => unknown): S3Error {
  try {
    run();
  } catch (error) {
    if (error instanceof S3Error) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** The error of a promise that has to be rejected. */
export async function rejectionOf(promise: Promise<unknown>): Promise<S3Error> {
  const outcome = await promise.then(
    () => new Error("nothing was thrown"),
    (error: unknown) => error,
  );
  if (outcome instanceof S3Error) return outcome;
  throw outcome;
}

export function expectCode(run: () => unknown, code: S3ErrorCode): void {
  expect(errorOf(run).code).toBe(code);
}
