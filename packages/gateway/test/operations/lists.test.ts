import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { elementOf, elementsOf, encoded, pathOf, type Running, sharedGateway } from "./running.ts";

setDefaultTimeout(120_000);

const running = sharedGateway();

/** In the order of UTF-8, which is not that of JavaScript's strings: U+FF5E comes before U+1F600. */
const KEYS = [
  " b",
  "a",
  "a/",
  "a/1",
  "a/2/x",
  "a/2/y",
  "a//b",
  "a0",
  "b&<c>",
  "b+c%",
  "z/1",
  "ä/1",
  "～",
  "😀",
].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

beforeAll(async () => {
  for (const key of KEYS) await running().send("PUT", pathOf(key), { body: key });
});

async function get(query: string): Promise<string> {
  const { status, text } = await running().send("GET", `/main?${query}`);
  expect([query, status, text]).toEqual([query, 200, text]);
  return text;
}

const decodedKeys = (text: string): readonly string[] =>
  elementsOf(text, "Key").map((key) => decodeURIComponent(key));
const prefixesOf = (text: string): readonly string[] =>
  elementsOf(text, "Prefix")
    .slice(1)
    .map((prefix) => decodeURIComponent(prefix));

/** How a form of the list goes on after a page. */
interface Form {
  readonly name: string;
  readonly query: string;
  next(text: string): string | undefined;
}

const nextOf =
  (element: string, parameter: string) =>
  (text: string): string | undefined => {
    const marker = elementOf(text, element);
    // A marker of the encoding `url` is encoded, and a token is not, nor needs it.
    return marker && `&${parameter}=${encoded(decodeURIComponent(marker))}`;
  };

const FORMS: readonly Form[] = [
  { name: "v1", query: "", next: nextOf("NextMarker", "marker") },
  {
    name: "v2",
    query: "list-type=2&",
    next: nextOf("NextContinuationToken", "continuation-token"),
  },
  { name: "versions", query: "versions&", next: nextOf("NextKeyMarker", "key-marker") },
];

/** Keys and common prefixes of all pages, and the most entries of a page. */
async function listAll(
  { query, next }: Form,
  { prefix = "", delimiter = "", max = 1000 },
): Promise<{ readonly entries: readonly string[]; readonly most: number }> {
  const entries: string[] = [];
  let most = 0;
  let position = "";
  for (;;) {
    const text = await get(
      `${query}encoding-type=url&prefix=${encoded(prefix)}&delimiter=${encoded(delimiter)}&max-keys=${max}${position}`,
    );
    const page = [...decodedKeys(text), ...prefixesOf(text).map((common) => `${common}…`)];
    entries.push(...page);
    most = Math.max(most, page.length);
    const following = next(text);
    expect(elementOf(text, "IsTruncated")).toBe(`${following !== undefined}`);
    if (following === undefined) return { entries: entries.toSorted(byBytes), most };
    position = following;
  }
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** What the list should be, from S3's description of prefix and delimiter. */
function expected(prefix: string, delimiter: string): readonly string[] {
  const entries = KEYS.filter((key) => key.startsWith(prefix)).map((key) => {
    const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    return at === -1 ? key : `${key.slice(0, at + delimiter.length)}…`;
  });
  return [...new Set(entries)].toSorted(byBytes);
}

describe.each(FORMS)("a list of the form $name", (form) => {
  test("has all keys once in pages of any size, whatever the prefix and delimiter", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("", "a", "a/", "a/2", "b", "z/", "ä", "none", "😀"),
        fc.constantFrom("", "/", "//", "/2", "x", "&"),
        fc.integer({ min: 1, max: 5 }),
        async (prefix, delimiter, max) => {
          const { entries, most } = await listAll(form, { prefix, delimiter, max });
          expect(entries).toEqual(expected(prefix, delimiter));
          expect(most).toBeLessThanOrEqual(max);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("has keys in the order of their bytes", async () => {
    const text = await get(`${form.query}encoding-type=url`);
    expect(decodedKeys(text)).toEqual(KEYS);
  });

  test("describes an object as HEAD does", async () => {
    const text = await get(`${form.query}prefix=a0`);
    const { headers } = await running().send("HEAD", "/main/a0");
    expect(elementOf(text, "ETag")).toBe(String(headers["etag"]));
    expect(elementOf(text, "ETag")).toBe(`"${createHash("md5").update("a0").digest("hex")}"`);
    expect(elementOf(text, "Size")).toBe("2");
    expect(elementOf(text, "LastModified")).toBe("2026-01-01T00:00:00.000Z");
    expect(elementOf(text, "StorageClass")).toBe("STANDARD");
  });

  test("without an encoding has its keys as XML", async () => {
    const text = await get(`${form.query}prefix=b%26`);
    expect(elementsOf(text, "Key")).toEqual(["b&amp;&lt;c&gt;"]);
    expect(text).not.toContain("EncodingType");
  });

  test("of no keys is empty, and not to be continued", async () => {
    const text = await get(`${form.query}max-keys=0`);
    expect([elementsOf(text, "Key"), elementOf(text, "IsTruncated")]).toEqual([[], "false"]);
    expect(elementOf(text, "MaxKeys")).toBe("0");
  });

  test("has at most 1,000 entries", async () => {
    expect(elementOf(await get(`${form.query}max-keys=5000`), "MaxKeys")).toBe("1000");
  });

  test.each(["max-keys=-1", "max-keys=x", "max-keys=3000000000", "encoding-type=base64"])(
    "with %s is refused",
    async (query) => {
      const { code } = await running().send("GET", `/main?${form.query}${query}`);
      expect(code).toBe("InvalidArgument");
    },
  );

  test("of a bucket that is not there is refused", async () => {
    expect((await running().send("GET", `/none?${form.query}`)).code).toBe("NoSuchBucket");
  });
});

describe("ListObjectsV2", () => {
  test("counts, starts after a key, and names the owner only if asked to", async () => {
    const text = await get("list-type=2&start-after=a%2F2&delimiter=%2F");
    // The common prefix of what comes after it begins before it, and is listed.
    expect(elementsOf(text, "Prefix").slice(1)).toEqual(["a/", "z/", "ä/"]);
    expect(elementOf(text, "StartAfter")).toBe("a/2");
    const count = elementsOf(text, "Key").length + 3;
    expect(elementOf(text, "KeyCount")).toBe(`${count}`);
    expect(text).not.toContain("<Owner>");
    expect(await get("list-type=2&fetch-owner=true")).toContain("<Owner>");
  });

  test.each(["list-type=3", "list-type=2&continuation-token=nonsense%21", "list-type"])(
    "refuses %s",
    async (query) => {
      expect((await running().send("GET", `/main?${query}`)).code).toBe("InvalidArgument");
    },
  );
});

describe("ListObjectVersions", () => {
  test("has one version of each, which is null and the latest", async () => {
    const text = await get("versions&prefix=a0");
    expect(elementsOf(text, "VersionId")).toEqual(["null"]);
    expect(elementsOf(text, "IsLatest")).toEqual(["true"]);
    expect((await running().send("GET", "/main?versions&version-id-marker=x")).code).toBe(
      "InvalidArgument",
    );
  });
});

describe("buckets", () => {
  const send: Running["send"] = async (...given) => running().send(...given);

  test("are made, found, listed and deleted", async () => {
    expect((await send("PUT", "/new-bucket")).headers["location"]).toBe("/new-bucket");
    expect((await send("PUT", "/new-bucket")).code).toBe("BucketAlreadyOwnedByYou");
    expect((await send("HEAD", "/new-bucket")).headers["x-amz-bucket-region"]).toBe("us-east-1");
    const { text } = await send("GET", "/new-bucket?location");
    expect(text).toEndWith("></LocationConstraint>");
    const names = elementsOf((await send("GET", "/")).text, "Name");
    expect(names).toEqual(["b", "main", "new-bucket"]);
    await send("PUT", "/new-bucket/k", { body: "" });
    expect((await send("DELETE", "/new-bucket")).code).toBe("BucketNotEmpty");
    await send("DELETE", "/new-bucket/k");
    expect((await send("DELETE", "/new-bucket")).status).toBe(204);
    expect((await send("DELETE", "/new-bucket")).code).toBe("NoSuchBucket");
    expect((await send("HEAD", "/new-bucket")).status).toBe(404);
  });

  test.each(["ab", "Upper", "a..b", "1.2.3.4", "-dash", "xn--a", "under_score", "a".repeat(64)])(
    "cannot have the name %s",
    async (name) => {
      expect((await send("PUT", `/${name}`)).code).toBe("InvalidBucketName");
    },
  );

  test("have the region that is asked for", async () => {
    const body =
      "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>";
    await send("PUT", "/european", { body });
    const { text } = await send("GET", "/european?location");
    expect(text).toEndWith(">eu-west-1</LocationConstraint>");
    await send("DELETE", "/european");
  });

  test.each([
    ["versioning", "VersioningConfiguration"],
    ["acl", "AccessControlPolicy"],
    ["ownershipControls", "BucketOwnerEnforced"],
    ["publicAccessBlock", "<BlockPublicAcls>true</BlockPublicAcls>"],
  ])("have the setting %s, as a new one on AWS", async (name, content) => {
    const { status, text } = await send("GET", `/main?${name}`);
    expect([status, text]).toEqual([200, expect.stringContaining(content)]);
    expect((await send("GET", `/none?${name}`)).code).toBe("NoSuchBucket");
  });

  test.each([
    ["policy", "NoSuchBucketPolicy"],
    ["cors", "NoSuchCORSConfiguration"],
    ["lifecycle", "NoSuchLifecycleConfiguration"],
    ["tagging", "NoSuchTagSet"],
    ["encryption", "ServerSideEncryptionConfigurationNotFoundError"],
    ["object-lock", "ObjectLockConfigurationNotFoundError"],
    ["website", "NotImplemented"],
    ["inventory", "NotImplemented"],
  ])("have no setting %s", async (name, code) => {
    expect((await send("GET", `/main?${name}`)).code).toBe(code);
    expect((await send("PUT", `/main?${name}`, { body: "<A/>" })).code).toBe("NotImplemented");
  });
});

test("an entry has its key as text, and the algorithm and type of its checksum", async () => {
  const { send } = running();
  const headers = { "x-amz-checksum-sha256": createHash("sha256").update("x").digest("base64") };
  expect((await send("PUT", "/b/%3C%26", { body: "x", headers })).status).toBe(200);
  const { text } = await send("GET", "/b?list-type=2");
  expect(text).toContain("<Contents><Key>&lt;&amp;</Key><LastModified>");
  expect(text).toContain(
    "</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>1</Size>",
  );
});
