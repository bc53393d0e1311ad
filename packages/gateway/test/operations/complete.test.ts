import { expect, test } from "bun:test";
import type { Part } from "../../src/catalog/records.ts";
import { createBudget } from "../../src/objects/memory/budget.ts";
import { SHORT_DOCUMENT } from "../../src/operations/bodies.ts";
import { COMPLETE_OPERATIONS } from "../../src/operations/multipart/complete.ts";
import type { Request } from "../../src/operations/operation.ts";
import { MIB } from "../objects/support.ts";
import { rejectionOf } from "../support.ts";

const PART = { number: 1, etag: "0".repeat(32), size: 1, checksums: {} } as Part;

/** Completes an upload of one part with a body of two megabytes. */
function complete(parts: readonly Part[]) {
  const documents = createBudget(8 * MIB);
  const used: Record<string, number> = {};
  const note = (when: string): void => void (used[when] = Math.floor(documents.used() / MIB));
  const body = Buffer.from(
    `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${PART.etag}</ETag></Part>${" ".repeat(2 * MIB)}</CompleteMultipartUpload>`,
  );
  const request = {
    bucket: async () => ({ id: 1, name: "b" }),
    bucketName: "b",
    headers: new Map<string, string>(),
    key: Buffer.from("k"),
    origin: "",
    query: new URLSearchParams({ uploadId: "u" }),
    rawPath: "/b/k",
    body: () => ({
      length: body.length,
      bytes: (async function* () {
        yield body.subarray(0, SHORT_DOCUMENT + 1);
        yield body.subarray(SHORT_DOCUMENT + 1);
      })(),
    }),
    documents,
    signal: new AbortController().signal,
    accessKey: { id: "A" },
    catalog: {
      findCompleted: async () => undefined,
      findUpload: async () => ({ id: "u", options: {}, headers: {} }),
      listParts: async () => {
        note("checking");
        return parts;
      },
    },
    objects: {
      completeUpload: async () => {
        note("completing");
        return { etag: "e", checksums: {} };
      },
    },
  };
  const [operation] = COMPLETE_OPERATIONS;
  const answered = operation!.run(request as unknown as Request);
  return { answered, used, documents };
}

test("what a long request lists is in the budget until it was checked", async () => {
  const { answered, used, documents } = complete([PART]);
  expect((await answered).body).toContain('<ETag>"e"</ETag>');
  expect(used).toEqual({ checking: 6, completing: 0 });
  expect(documents.used()).toBe(0);
});

test("its memory is given back if a check fails", async () => {
  const { answered, used, documents } = complete([]);
  expect((await rejectionOf(answered)).code).toBe("InvalidPart");
  expect(used).toEqual({ checking: 6 });
  expect(documents.used()).toBe(0);
});
