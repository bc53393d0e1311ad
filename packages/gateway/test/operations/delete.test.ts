import { expect, test } from "bun:test";
import { S3Error } from "../../src/errors.ts";
import { s3ErrorOf } from "../../src/faults.ts";
import { createBudget } from "../../src/objects/memory/budget.ts";
import { SHORT_DOCUMENT } from "../../src/operations/bodies.ts";
import { DELETE_OPERATIONS } from "../../src/operations/object/delete.ts";
import type { Request } from "../../src/operations/operation.ts";
import { MIB } from "../objects/support.ts";
import { rejectionOf } from "../support.ts";

/** Deletes the keys `a` and `b` of objects that answer so. */
async function deleteTwo(
  outcomes: readonly (undefined | Error)[],
  {
    documents = createBudget(1000),
    isDone = () => {},
    space = "",
    etag = "e",
    pause = Promise.resolve(),
  } = {},
) {
  const reported: unknown[] = [];
  const body = Buffer.from(
    `<Delete><Object><Key>a</Key><ETag>${etag}</ETag></Object>${space}<Object><Key>b</Key></Object></Delete>`,
  );
  const request = {
    bucket: async () => ({ id: 1, name: "b" }),
    bucketName: "b",
    body: () => ({
      length: body.length,
      bytes: (async function* () {
        yield body.subarray(0, SHORT_DOCUMENT + 1);
        await pause;
        yield body.subarray(SHORT_DOCUMENT + 1);
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

test.each([
  ["a request that may be long has memory before anything is deleted", "e".repeat(60_000), 0],
  ["a short one needs no memory", "e", 1],
])("%s", async (_, etag, doneWithout) => {
  const documents = createBudget(1000);
  const held = await documents.acquire({ least: 1000, most: 1000 });
  let done = 0;
  const isDone = (): void => void (done += 1);
  const deleting = deleteTwo([undefined, undefined], { documents, isDone, etag });
  await Bun.sleep(10);
  const before = [done, documents.waiting()];
  held.release();
  expect((await deleting).text).toContain("<Deleted><Key>b</Key>");
  expect(before).toEqual([doneWithout, 1 - doneWithout]);
  expect([done, documents.used()]).toEqual([1, 0]);
});

test("what a long request holds is in the budget until it is answered", async () => {
  const documents = createBudget(8 * MIB);
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  const order: string[] = [];
  const isDone = (): void => void order.push(`deleted with ${Math.floor(documents.used() / MIB)}`);
  const deleting = deleteTwo([undefined, undefined], {
    documents,
    isDone,
    etag: "e".repeat(2 * MIB),
    pause,
  });
  await Bun.sleep(10);
  const wait = async (): Promise<void> => {
    const share = await documents.acquire({ least: 8 * MIB, most: 8 * MIB });
    order.push("other");
    share.release();
  };
  const other = wait();
  goOn();
  await Promise.all([deleting, other]);
  expect(order).toEqual(["deleted with 6", "other"]);
  expect(documents.used()).toBe(0);
});

test("a request that is long only by its blanks holds little while it deletes", async () => {
  const documents = createBudget(8 * MIB);
  let used = NaN;
  const isDone = (): void => void (used = documents.used());
  await deleteTwo([undefined, undefined], { documents, isDone, space: " ".repeat(2 * MIB) });
  expect(used).toBeLessThan(SHORT_DOCUMENT);
  const malformed = rejectionOf(deleteTwo([], { documents, space: "<".repeat(2 * MIB) }));
  expect((await malformed).code).toBe("MalformedXML");
  expect(documents.used()).toBe(0);
});

test("an error takes 250 bytes at most, and its key", async () => {
  const failed = new S3Error("PreconditionFailed");
  const [both, one] = [await deleteTwo([failed, failed]), await deleteTwo([failed, undefined])];
  const shown = both.text.length - one.text.length + "<Deleted><Key>b</Key></Deleted>".length;
  expect(shown).toBeLessThanOrEqual(250 + 1);
  expect(shown).toBeGreaterThan(100);
});
