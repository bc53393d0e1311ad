import { expect, setDefaultTimeout, test } from "bun:test";
import { cp, readdir, rm } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { elements, encode, encodeValue, md5, type S3Requests, s3Requests } from "../s3-requests.ts";
import { createWorld, type World } from "./world.ts";

/*
 * The recovery drill: the catalog is lost, and made again by the command from the store alone.
 */

setDefaultTimeout(180_000);

const BUCKETS = ["drill", "other"];
const KEYS = ["plain", "a//b", "a/./b", "//lead", "ü/日本/🙂", "tail/", "x".repeat(1024), "<&'\">"];

function checksumOf(bytes: Buffer): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString("base64");
}

/** Objects of all kinds, some of which were overwritten, deleted or copied. */
async function fill(requests: S3Requests): Promise<void> {
  const ok = async (...given: Parameters<S3Requests["send"]>): Promise<string> => {
    const { status, code, body } = await requests.send(...given);
    expect([given[0], given[1], status < 300, code]).toEqual([given[0], given[1], true, undefined]);
    return body.toString();
  };
  for (const bucket of BUCKETS) await ok("PUT", `/${bucket}`);
  for (const [index, key] of KEYS.entries()) {
    const target = `/drill/${encode(key)}`;
    const headers = {
      "content-type": `text/x-${index}`,
      "cache-control": "no-cache",
      "content-disposition": `attachment; filename="${index}"`,
      "x-amz-meta-name": `value ${index}`,
      "x-amz-meta-other": "",
      "x-amz-tagging": `a=${index}&b=c%20d`,
    };
    if (index % 3 === 0) await ok("PUT", target, { body: "overwritten" });
    await ok("PUT", target, { headers, body: Buffer.alloc(index * 300_000, key) });
    await ok("PUT", `/other/${encode(key)}`, { body: `${index}` });
    if (index % 2 === 0) await ok("DELETE", `/other/${encode(key)}`);
  }
  const source = { "x-amz-copy-source": `/drill/${encode(KEYS[7]!)}` };
  await ok("PUT", "/other/copy", { headers: source });
  await ok("PUT", "/other/renamed", {
    headers: { ...source, "x-amz-metadata-directive": "REPLACE", "x-amz-meta-new": "1" },
  });
  const begun = await ok("POST", "/drill/parts?uploads", {
    headers: { "x-amz-checksum-algorithm": "CRC32", "x-amz-tagging": "part=yes" },
  });
  const upload = `uploadId=${encodeValue(elements(begun, "UploadId")[0]!)}`;
  const parts: string[] = [];
  for (const number of [1, 2, 5]) {
    const body = Buffer.alloc(number === 5 ? 1000 : 5 * 2 ** 20, `${number}`);
    const checksum = checksumOf(body);
    const { status, etag } = await requests.send(
      "PUT",
      `/drill/parts?partNumber=${number}&${upload}`,
      { body, headers: { "x-amz-checksum-crc32": checksum } },
    );
    expect(status).toBe(200);
    parts.push(
      `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag><ChecksumCRC32>${checksum}</ChecksumCRC32></Part>`,
    );
  }
  await ok("POST", `/drill/parts?${upload}`, {
    body: `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`,
  });
  await ok("PUT", "/drill/plain?tagging", {
    body: "<Tagging><TagSet><Tag><Key>later</Key><Value>yes</Value></Tag></TagSet></Tagging>",
  });
  await ok("PUT", "/drill/gone", { body: "gone" });
  await ok("DELETE", "/drill/gone");
}

/** All that clients see. */
async function picture(requests: S3Requests): Promise<unknown> {
  const buckets = await requests.send("GET", "/");
  const seen: unknown[] = [buckets.body.toString()];
  for (const bucket of BUCKETS) {
    for (const target of [`/${bucket}?list-type=2`, `/${bucket}?versions`, `/${bucket}?location`]) {
      seen.push((await requests.send("GET", target)).body.toString());
    }
    const { body } = await requests.send("GET", `/${bucket}?list-type=2`);
    for (const key of elements(body, "Key")) {
      const target = `/${bucket}/${encode(key)}`;
      const headers = { "x-amz-checksum-mode": "ENABLED" };
      const head = await requests.send("HEAD", target, { headers });
      const { date: _, "x-amz-request-id": __, "x-amz-id-2": ___, ...kept } = head.headers;
      const content = await requests.send("GET", target);
      const tags = await requests.send("GET", `${target}?tagging`);
      const attributes = await requests.send("GET", `${target}?attributes`, {
        headers: { "x-amz-object-attributes": "ETag,Checksum,ObjectParts,ObjectSize" },
      });
      seen.push({
        key,
        head: [head.status, kept],
        content: [content.status, content.body.length, md5(content.body)],
        tags: tags.body.toString(),
        attributes: attributes.body.toString(),
      });
    }
  }
  return seen;
}

async function pictureOf(world: World): Promise<unknown> {
  await using gateway = await world.serve();
  using requests = s3Requests(gateway);
  return await picture(requests);
}

/** Removes the catalog, with its log. */
async function loseCatalog({ catalog }: World): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) await rm(`${catalog}${end}`, { force: true });
}

test.each([
  ["after it was stopped", "SIGTERM", []],
  ["after it was stopped, without its snapshot", "SIGTERM", ["--all"]],
  ["after it was killed", "SIGKILL", []],
] as const)("a catalog that is lost is rebuilt as it was, %s", async (_, signal, flags) => {
  await using world = await createWorld();
  const gateway = await world.serve();
  using requests = s3Requests(gateway);
  await fill(requests);
  const before = await picture(requests);
  await gateway.stop(signal);
  await loseCatalog(world);

  // A gateway does not take a store for an empty one.
  const refusal = await world.serve().then(
    () => "it serves",
    (error: unknown) => String(error),
  );
  expect(refusal).toContain("rebuild");
  await loseCatalog(world);
  const { code, stdout, stderr } = await world.idk(["rebuild", ...flags]);
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("rebuilt 2 buckets with 15 objects");
  expect(await pictureOf(world)).toEqual(before);
  expect(await world.idk(["check", "--deep"])).toMatchObject({ code: 0 });
});

test("what somebody forged who has only the public key is refused and reported", async () => {
  await using world = await createWorld();
  const gateway = await world.serve();
  using requests = s3Requests(gateway);
  await fill(requests);
  const before = await picture(requests);
  await gateway.stop();

  // With a gateway of their own, which seals for the same reader, with a key for MACs that they have made.
  await using forger = await createWorld();
  const theirs = forger.home.path("mac.key");
  const { code: made } = await forger.home.idk("gateway", "mac-key", "-o", theirs);
  expect(made).toBe(0);
  const forging = await forger.serve(
    "--write-only",
    "-R",
    world.home.path("me.pub"),
    // As a gateway requires of its MAC key.
    "-R",
    forger.home.path("me.pub"),
    "--mac-key",
    theirs,
  );
  using forgery = s3Requests(forging);
  await forgery.send("PUT", "/drill");
  for (const key of ["plain", "planted", "a//b", "plain"]) {
    const body = Buffer.alloc(key === "planted" ? 2_000_000 : 10, "forged");
    expect((await forgery.send("PUT", `/drill/${encode(key)}`, { body })).status).toBe(200);
  }
  await forgery.send("DELETE", "/drill/tail/");
  await forging.stop();
  await cp(forger.home.path("store/s3"), world.home.path("store/s3"), { recursive: true });
  const shards = await readdir(forger.home.path("store/s3"));
  expect(shards.length).toBeGreaterThan(2);

  await loseCatalog(world);
  const { code, stdout, stderr } = await world.idk(["rebuild", "--all"]);
  expect(code).toBe(5);
  // A bucket, four objects, a deletion and a snapshot.
  const refused = stdout.trim().split("\n");
  expect(
    refused.filter((line) => !line.endsWith("not made by a gateway with these keys: refused")),
  ).toEqual([]);
  expect(refused.length).toBeGreaterThanOrEqual(6);
  expect(stderr).toContain("rebuilt 2 buckets with 15 objects");
  expect(await pictureOf(world)).toEqual(before);

  // Whoever has looked at them goes on.
  await loseCatalog(world);
  const accepted = await world.idk(["rebuild", "--all", "--accept-faults", "--quiet"]);
  expect([accepted.code, accepted.stderr]).toEqual([
    0,
    expect.stringMatching(/^idk: warning: no snapshot of the catalog was used: [^\n]+\n$/u),
  ]);
  expect(await pictureOf(world)).toEqual(before);
  const swept = await world.idk(["gc", "--quiet"]);
  const warnings = swept.stderr.trim().split("\n");
  expect([swept.code, warnings.length]).toEqual([0, refused.length]);
  expect(warnings.filter((line) => !line.startsWith("idk: warning: "))).toEqual([]);
});
