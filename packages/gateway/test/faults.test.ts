import { expect, test } from "bun:test";
import { StorageError } from "@idk/storage";
import { S3Error } from "../src/errors.ts";
import { s3ErrorOf } from "../src/faults.ts";

const aborted = (cause: unknown): Error => new StorageError("aborted", "aborted", { cause });

test("the reason why a request was stopped is what its client sees", () => {
  const reason = new S3Error("RequestTimeout");
  expect(s3ErrorOf(aborted(reason))).toBe(reason);
  expect(s3ErrorOf(aborted(aborted(reason)))).toBe(reason);
});

test("another error is an internal one, whatever caused it", () => {
  for (const error of [
    aborted(new Error("gone")),
    new StorageError("tree", "damaged", { cause: new S3Error("AccessDenied") }),
  ]) {
    expect(s3ErrorOf(error)).toMatchObject({ code: "InternalError", cause: error });
  }
});

test("what the server cannot read now may be readable later", () => {
  const error = new StorageError("address", "unreadable", { transient: true });
  expect(s3ErrorOf(error)).toMatchObject({ code: "ServiceUnavailable", status: 503, cause: error });
});
