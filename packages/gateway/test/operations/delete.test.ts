import { expect, test } from "bun:test";
import { S3Error } from "../../src/errors.ts";
import { s3ErrorOf } from "../../src/faults.ts";
import { createBudget } from "../../src/objects/memory/budget.ts";
import { DELETE_OPERATIONS } from "../../src/operations/object/delete.ts";
import type { Request } from "../../src/operations/operation.ts";

/** Deletes the keys `a` and `b` of objects that answer so. */
async function deleteTwo(
  outcomes: readonly (undefined | Error)[],
  { documents = createBudget(1000), isDone = () => {}, space = "" } = {},
) {
  const reported: unknown[] = [];
  const body = Buffer.from(
    `<Delete><Object><Key>a</Key></Object>${space}<Object><Key>b</Key></Object></Delete>`,
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
    documents,
    signal: new AbortController().signal,
    accessKey: { id: "A", secret: "", buckets: ["*"], prefixes: [], rights: ["write"] },
    objects: {
      deleteObjects: async () => {
        isDone();
        return outcomes;
      },
    },
    report: (error: unknown) => {
      reported.push(error);
      return s3ErrorOf(error);
    },
  };
  const operation = DELETE_OPERATIONS.find(({ name }) => name === "DeleteObjects")!;
  const answer = await operation.run(request as unknown as Request);
  if (typeof answer.body !== "string") throw new Error("the answer is no document");
  return { text: answer.body, reported, length: body.length };
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

test.each([
  ["a long answer has its memory before anything is deleted", " ".repeat(10_000), 0],
  ["a short answer needs no memory", "", 1],
])("%s", async (_, space, doneWithout) => {
  const documents = createBudget(1000);
  const held = await documents.acquire({ least: 1000, most: 1000 });
  let done = 0;
  const isDone = (): void => void (done += 1);
  const deleting = deleteTwo([undefined, undefined], { documents, isDone, space });
  await Bun.sleep(10);
  const before = [done, documents.waiting()];
  held.release();
  expect((await deleting).text).toContain("<Deleted><Key>b</Key>");
  expect(before).toEqual([doneWithout, 1 - doneWithout]);
  expect([done, documents.used()]).toEqual([1, 0]);
});

test("an answer is nine times as long as its request at most", async () => {
  const failed = new S3Error("PreconditionFailed");
  const { text, length } = await deleteTwo([failed, failed]);
  expect(text.length).toBeLessThan(9 * length);
});
