import { expect, test } from "bun:test";
import { crc32 } from "node:zlib";
import type { MemoryOwner, MemoryWait } from "../../src/objects/objects.ts";
import { bytesOf, MIB, put } from "../objects/support.ts";
import { elementOf, KEY, startGateway } from "./running.ts";

/** The memory and the chunks of a gateway that is not told otherwise. */
const DEFAULTS = { chunkSize: 4 * MIB, memoryBytes: 80 * MIB };
/** More than the budget has shares for. */
const AT_ONCE = Array.from({ length: 10 }, (_, index) => index + 1);

const crc32Of = (bytes: Uint8Array): string => {
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32(bytes));
  return value.toString("base64");
};

test.each([
  ["ranges of long content", 8 * MIB],
  ["ranges of short content", MIB],
])(
  "ten copies at once get a checksum: %s",
  async (_, length) => {
    await using running = await startGateway({}, DEFAULTS);
    const { rig, send } = running;
    const bytes = bytesOf(length, 1);
    const bucket = await rig.catalog.findBucket("main");
    await put({ objects: rig.objects, bucket: bucket! }, "source", bytes);
    const created = await send("POST", "/main/k?uploads", {
      headers: { "x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT" },
    });
    const id = elementOf(created.text, "UploadId")!;
    const headers = {
      "x-amz-copy-source": "/main/source",
      "x-amz-copy-source-range": `bytes=1-${length - 1}`,
    };
    const copies = await Promise.all(
      AT_ONCE.map((number) =>
        send("PUT", `/main/k?partNumber=${number}&uploadId=${id}`, { headers }),
      ),
    );
    const expected = crc32Of(bytes.subarray(1));
    expect(copies.map(({ text }) => elementOf(text, "ChecksumCRC32"))).toEqual(
      AT_ONCE.map(() => expected),
    );
  },
  120_000,
);

test("long manifests take the memory of the access key", async () => {
  await using running = await startGateway();
  const { rig, send } = running;
  const { copyObject, copyPart, completeUpload, setTags } = rig.objects;
  const owners: (string | undefined)[] = [];
  const noted = <T extends MemoryOwner>(given: T): T => {
    owners.push(given.owner);
    return given;
  };
  Object.assign(rig.objects, {
    copyObject: (request) => copyObject(noted(request)),
    copyPart: (request) => copyPart(noted(request)),
    completeUpload: (request) => completeUpload(noted(request)),
    setTags: (request) => setTags(noted(request)),
  } satisfies Partial<typeof rig.objects>);
  await send("PUT", "/main/k", { body: "x" });
  const headers = { "x-amz-copy-source": "/main/k" };
  await send("PUT", "/main/copy", { headers });
  await send("DELETE", "/main/k?tagging");
  const id = elementOf((await send("POST", "/main/u?uploads")).text, "UploadId")!;
  const part = await send("PUT", `/main/u?partNumber=1&uploadId=${id}`, { headers });
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${elementOf(part.text, "ETag")}</ETag></Part></CompleteMultipartUpload>`;
  expect((await send("POST", `/main/u?uploadId=${id}`, { body })).status).toBe(200);
  expect(owners).toEqual([KEY, KEY, KEY, KEY]);
});

test("content waits for memory for half a minute", async () => {
  await using running = await startGateway();
  const { rig, send } = running;
  const { putObject, putPart, readObject } = rig.objects;
  const waits: (number | undefined)[] = [];
  const noted = <T extends MemoryWait | undefined>(given: T): T => {
    waits.push(given?.memoryWaitMs);
    return given;
  };
  Object.assign(rig.objects, {
    putObject: (request) => putObject(noted(request)),
    putPart: (request) => putPart(noted(request)),
    readObject: (opened, range, options) => readObject(opened, range, noted(options)),
  } satisfies Partial<typeof rig.objects>);
  await send("PUT", "/main/k", { body: "x" });
  await send("GET", "/main/k");
  const id = elementOf((await send("POST", "/main/k?uploads")).text, "UploadId")!;
  await send("PUT", `/main/k?partNumber=1&uploadId=${id}`, { body: "x" });
  expect(waits).toEqual([30_000, 30_000, 30_000]);
});
