import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { openCatalog } from "@idk/gateway";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { bytes, fill } from "../../../../packages/gateway/test/catalog/behaviour/fixture.ts";
import { elements, encodeValue, md5 } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET, CLIENT_MAX, SLOW } from "./attacked.ts";

/*
 * Much of everything: parts, keys and uploads in the numbers that S3 allows, and listings that are made to be
 * slow with them.
 */

setDefaultTimeout(300_000);

const PARTS = SLOW ? 10_000 : 1000;
const KEYS = SLOW ? 300_000 : 40_000;
const UPLOADS = SLOW ? 20_000 : 3000;
const PART_SIZE = 5 * 2 ** 20;
const LIST_MAX = 1000;
/** What a listing may take, what a client may wait, and what a listing for each of many may take, in ms. */
const [LISTING_MS, WAIT_MS, LISTINGS_MS] = SLOW
  ? [1000, 2000, 10_000]
  : [CLIENT_MAX, CLIENT_MAX, CLIENT_MAX];

let attacked: Attacked;
beforeAll(async () => {
  attacked = await attackedGateway();
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** How long a request takes, and how long others wait meanwhile, in ms. */
async function timed<T>(run: () => Promise<T>): Promise<{ result: T; ms: number; others: number }> {
  let isOver = false;
  let others = 0;
  const asking = (async () => {
    while (!isOver) {
      const start = performance.now();
      await attacked.requests.send("HEAD", `/${BUCKET}`);
      others = Math.max(others, performance.now() - start);
      await Bun.sleep(5);
    }
  })();
  const start = performance.now();
  const result = await run();
  const ms = performance.now() - start;
  isOver = true;
  await asking;
  return { result, ms, others };
}

test(`an object of ${PARTS} parts is made, described, read at its end and deleted`, async () => {
  const { requests } = attacked;
  const content = Buffer.alloc(PART_SIZE, "0123456789");
  expect((await requests.send("PUT", `/${BUCKET}/source`, { body: content })).status).toBe(200);
  const target = `/${BUCKET}/many-parts`;
  const begun = await requests.send("POST", `${target}?uploads`);
  const upload = `uploadId=${encodeValue(elements(begun.body, "UploadId")[0]!)}`;
  const headers = { "x-amz-copy-source": `/${BUCKET}/source` };
  let next = 1;
  // The last one is short, and has content of its own.
  const copyParts = async (): Promise<void> => {
    while (next < PARTS) {
      const number = next++;
      const { status } = await requests.send("PUT", `${target}?partNumber=${number}&${upload}`, {
        headers,
      });
      expect([number, status]).toEqual([number, 200]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, copyParts));
  const last = await requests.send("PUT", `${target}?partNumber=${PARTS}&${upload}`, {
    body: "the end",
  });
  const tooMany = await requests.send("PUT", `${target}?partNumber=10001&${upload}`, { body: "x" });
  expect(tooMany.code).toBe("InvalidArgument");
  const etag = md5(content);
  const parts = Array.from(
    { length: PARTS },
    (_, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>&quot;${index + 1 === PARTS ? last.etag : etag}&quot;</ETag></Part>`,
  ).join("");
  const body = `<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`;
  const completed = await timed(async () => requests.send("POST", `${target}?${upload}`, { body }));
  const digests = Buffer.alloc(16 * PARTS, Buffer.from(etag, "hex"));
  Buffer.from(last.etag, "hex").copy(digests, 16 * (PARTS - 1));
  const whole = `${md5(digests)}-${PARTS}`;
  expect(completed.result.body.toString()).toContain(whole);
  expect(completed.others).toBeLessThan(WAIT_MS);

  const size = PART_SIZE * (PARTS - 1) + 7;
  const head = await requests.send("HEAD", target);
  expect([head.status, head.etag, head.headers["content-length"]]).toEqual([200, whole, `${size}`]);
  const range = await timed(async () =>
    requests.send("GET", target, { headers: { range: `bytes=${size - 12}-` } }),
  );
  expect(range.result.body.toString()).toBe("56789the end".slice(-12));
  expect(range.ms).toBeLessThan(WAIT_MS);
  const part = await requests.send("GET", `${target}?partNumber=${PARTS}`);
  expect([part.status, part.body.toString()]).toEqual([206, "the end"]);
  const attributes = { "x-amz-object-attributes": "ObjectParts", "x-amz-max-parts": "1000" };
  const described = await requests.send("GET", `${target}?attributes`, { headers: attributes });
  expect(described.body.toString()).toContain(`${PARTS}</`);
  expect((await requests.send("DELETE", target)).status).toBe(204);
  expect((await requests.send("HEAD", target)).status).toBe(404);
});

test("listings that are made to be slow are not, and delay nobody", async () => {
  const { requests, home } = attacked;
  await requests.send("PUT", "/listed");
  const folder = home.path(".local/state/idk/gateways");
  const [id] = await readdir(folder);
  // Through the gateway, so many would take minutes. Their content is not asked for.
  const catalog = await openCatalog(join(folder, id!, "catalog.sqlite"));
  const bucket = (await catalog.findBucket("listed"))!;
  const keyOf = (index: number): string =>
    index % 2 === 0
      ? // All of them have one prefix, and with a delimiter far behind each its own.
        `one/${`${index}`.padStart(8, "0")}${"x".repeat(200)}|`
      : `many/${`${index % 5000}`.padStart(8, "0")}/${index}`;
  await fill(
    catalog,
    bucket,
    Array.from({ length: KEYS }, (_, index) => bytes(keyOf(index))),
  );
  await catalog.close();

  const queries = [
    "list-type=2",
    "list-type=2&delimiter=%2F",
    "list-type=2&delimiter=%7C",
    "list-type=2&delimiter=%F0%9F%99%82",
    "list-type=2&prefix=one%2F&delimiter=x",
    "list-type=2&prefix=one%2F&delimiter=%7C&max-keys=1",
    "list-type=2&prefix=many%2F&delimiter=%2F",
    "list-type=2&prefix=none%2F&delimiter=%2F",
    "list-type=2&prefix=one%2F&start-after=one%2F99&delimiter=%2F",
    "list-type=2&max-keys=0",
    "list-type=2&encoding-type=url&fetch-owner=true",
    "delimiter=x",
    "marker=many%2F00002500&delimiter=0",
    "versions&delimiter=%2F",
    "versions&prefix=one%2F&delimiter=%7C",
  ];
  const times: Record<string, number> = {};
  for (const query of queries) {
    const { result, ms, others } = await timed(async () =>
      requests.send("GET", `/listed?${query}`),
    );
    expect([query, result.status]).toEqual([query, 200]);
    expect(elements(result.body, "Key").length).toBeLessThanOrEqual(LIST_MAX);
    times[query] = Math.round(Math.max(ms, others));
  }
  expect(Object.entries(times).filter(([, ms]) => ms > LISTING_MS)).toEqual([]);
  // Twenty clients at once, all with the worst.
  const { ms, others } = await timed(async () =>
    Promise.all(
      Array.from({ length: 20 }, async () =>
        requests.send("GET", "/listed?list-type=2&prefix=many%2F&delimiter=%2F"),
      ),
    ),
  );
  expect(ms).toBeLessThan(LISTINGS_MS);
  expect(others).toBeLessThan(WAIT_MS);
});

test(`${UPLOADS} uploads of one key are listed page by page`, async () => {
  const { requests } = attacked;
  let left = UPLOADS;
  const begin = async (): Promise<void> => {
    while (left-- > 0) await requests.send("POST", `/${BUCKET}/uploaded?uploads`);
  };
  await Promise.all(Array.from({ length: 8 }, begin));
  const found = new Set<string>();
  let [marker, slowest] = ["", 0];
  for (;;) {
    const { result, ms } = await timed(async () =>
      requests.send("GET", `/${BUCKET}?uploads${marker}`),
    );
    slowest = Math.max(slowest, ms);
    for (const id of elements(result.body, "UploadId")) found.add(id);
    if (elements(result.body, "IsTruncated")[0] !== "true") break;
    const [key] = elements(result.body, "NextKeyMarker");
    const [id] = elements(result.body, "NextUploadIdMarker");
    marker = `&key-marker=${encodeValue(key!)}&upload-id-marker=${encodeValue(id!)}`;
  }
  expect(found.size).toBe(UPLOADS);
  expect(slowest).toBeLessThan(LISTING_MS);
});
