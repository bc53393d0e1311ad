import { beforeAll, beforeEach, expect, test } from "bun:test";
import { md5Of } from "../objects/support.ts";
import { elementOf, type Received, sharedGateway } from "./running.ts";

/** Long enough that a copy shares its content, and short enough that it does not. */
const [LONG, SHORT] = ["x".repeat(2 ** 20 + 1), "x"] as const;
const NEW = "new";

const running = sharedGateway();
/** Runs once the source of a copy was looked up, so many times. */
let [meanwhile, times] = [async (): Promise<unknown> => undefined, 0];

beforeAll(() => {
  const { catalog } = running().rig;
  const { openObject, claim } = catalog;
  const interrupted = async <T>(looking: Promise<T>): Promise<T> => {
    const found = await looking;
    times -= 1;
    if (times >= 0) await meanwhile();
    return found;
  };
  catalog.openObject = async (...given) => interrupted(openObject(...given));
  catalog.claim = async (...given) =>
    given[4]?.reserves === true ? interrupted(claim(...given)) : claim(...given);
});
beforeEach(() => {
  times = 1;
  meanwhile = async () => running().send("PUT", "/main/source", { body: NEW });
});

async function put(body: string): Promise<void> {
  expect((await running().send("PUT", "/main/source", { body })).status).toBe(200);
}

async function copy(target: string, more: Readonly<Record<string, string>> = {}) {
  const headers = {
    "x-amz-copy-source": "/main/source",
    "x-amz-metadata-directive": "REPLACE",
    "x-amz-meta-a": "1",
    ...more,
  };
  return running().send("PUT", target, { headers });
}

async function copyPart(): Promise<Received> {
  const { text } = await running().send("POST", "/main/parts?uploads");
  return copy(`/main/parts?partNumber=1&uploadId=${elementOf(text, "UploadId")}`);
}

test("a copy is of what replaced its source meanwhile", async () => {
  await put(LONG);
  expect((await copy("/main/target")).status).toBe(200);
  expect(times).toBe(-1);
  const { headers, text } = await running().send("GET", "/main/target");
  expect([headers["x-amz-meta-a"], text]).toEqual(["1", NEW]);
});

test.each([
  [LONG, {}],
  [SHORT, {}],
  [SHORT, { "x-amz-checksum-algorithm": "SHA256" }],
  [LONG, { "x-amz-checksum-algorithm": "SHA256" }],
])("a copy onto itself comes before what replaces it meanwhile", async (body, more) => {
  await put(body);
  expect((await copy("/main/source", more)).status).toBe(200);
  expect(times).toBe(0);
  const { headers, text } = await running().send("GET", "/main/source");
  expect([headers["x-amz-meta-a"], text]).toEqual([undefined, NEW]);
});

test("a part is copied of what replaced its source meanwhile", async () => {
  await put(LONG);
  const { status, text } = await copyPart();
  expect([status, elementOf(text, "ETag"), times]).toEqual([
    200,
    `"${md5Of(Buffer.from(NEW))}"`,
    -1,
  ]);
});

/** A source that was uploaded in one part, whose parts are copied with it. */
async function upload(): Promise<void> {
  const { text } = await running().send("POST", "/main/source?uploads");
  const id = elementOf(text, "UploadId");
  const part = `/main/source?partNumber=1&uploadId=${id}`;
  const { etag } = (await running().send("PUT", part, { body: LONG })).headers;
  const listed = `<Part><PartNumber>1</PartNumber><ETag>${String(etag)}</ETag></Part>`;
  const body = `<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`;
  expect((await running().send("POST", `/main/source?uploadId=${id}`, { body })).status).toBe(200);
}

test("a copy or tags of an upload are of what replaced it meanwhile", async () => {
  for (const target of ["/main/target", "/main/source"]) {
    await upload();
    times = 1;
    expect((await copy(target)).status).toBe(200);
    expect((await running().send("GET", target)).text).toBe(NEW);
  }
  await upload();
  times = 1;
  const tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
  const tagged = await running().send("PUT", "/main/source?tagging", { body: tags });
  expect([tagged.status, times]).toEqual([200, -1]);
  expect((await running().send("GET", "/main/source")).text).toBe(NEW);
});

test("a copy whose source is deleted meanwhile finds none", async () => {
  meanwhile = async () => running().send("DELETE", "/main/source");
  for (const start of [async () => copy("/main/target"), copyPart]) {
    times = 1;
    await put(LONG);
    expect(await start()).toMatchObject({ status: 404, code: "NoSuchKey" });
  }
});

test("a copy onto itself comes before a deletion meanwhile", async () => {
  meanwhile = async () => running().send("DELETE", "/main/source");
  await put(LONG);
  expect((await copy("/main/source")).status).toBe(200);
  expect((await running().send("GET", "/main/source")).status).toBe(404);
});

test("a copy holds to the conditions of its source also after that was replaced", async () => {
  await put(LONG);
  const condition = { "x-amz-copy-source-if-match": `"${md5Of(Buffer.from(LONG))}"` };
  expect((await copy("/main/target", condition)).code).toBe("PreconditionFailed");
});

test("a copy whose source is replaced again and again is refused as a conflict", async () => {
  meanwhile = async () => running().send("PUT", "/main/source", { body: LONG });
  times = 100;
  await put(LONG);
  expect(await copy("/main/target")).toMatchObject({ status: 409, code: "OperationAborted" });
  expect(times).toBe(95);
});
