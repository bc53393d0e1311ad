import { expect, test } from "bun:test";
import { S3Error } from "../../src/errors.ts";
import { s3ErrorOf } from "../../src/faults.ts";
import { createBudget } from "../../src/objects/memory/budget.ts";
import { DELETE_OPERATIONS } from "../../src/operations/object/delete.ts";
import type { Request } from "../../src/operations/operation.ts";

/** Deletes the keys `a` and `b` of objects that answer so. */
async function deleteTwo(outcomes: readonly (undefined | Error)[]) {
  const reported: unknown[] = [];
  const body = Buffer.from(
    "<Delete><Object><Key>a</Key></Object><Object><Key>b</Key></Object></Delete>",
  );
  const request = {
    bucket: async () => ({ id: 1, name: "b" }),
    bucketName: "b",
    body: () => ({
      length: body.length,
      bytes: (async function* () {
        yield body;
      })(),
    }),
    documents: createBudget(1000),
    signal: new AbortController().signal,
    accessKey: { id: "A", secret: "", buckets: ["*"], prefixes: [], rights: ["write"] },
    objects: { deleteObjects: async () => outcomes },
    report: (error: unknown) => {
      reported.push(error);
      return s3ErrorOf(error);
    },
  };
  const operation = DELETE_OPERATIONS.find(({ name }) => name === "DeleteObjects")!;
  const answer = await operation.run(request as unknown as Request);
  if (typeof answer.body !== "string") throw new Error("the answer is no document");
  return { text: answer.body, reported };
}

test("an entry that failed inside is told to the log, and one that was refused is not", async () => {
  const fault = new Error("the disk is full");
  const { text, reported } = await deleteTwo([fault, new S3Error("PreconditionFailed")]);
  expect(text).toContain("<Error><Key>a</Key><Code>InternalError</Code>");
  expect(text).toContain("<Error><Key>b</Key><Code>PreconditionFailed</Code>");
  expect(text).not.toContain("disk");
  expect(reported).toEqual([fault]);
});

test("an entry without an outcome is not reported as deleted", async () => {
  expect((await deleteTwo([undefined, undefined])).text).toContain("<Deleted><Key>b</Key>");
  const outcome = await deleteTwo([undefined]).catch((error: unknown) => error);
  expect(outcome).toEqual(new Error("1 outcomes of 2 deletions"));
});
