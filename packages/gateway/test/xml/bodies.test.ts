import { describe, expect, test } from "bun:test";
import { parseCompleteUpload, parseCreateBucket, parseDelete } from "../../src/xml/bodies.ts";
import { parseTagging, parseTaggingHeader } from "../../src/xml/tags.ts";
import { expectCode } from "../support.ts";
import fc from "fast-check";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const keysOf = (text: string): string[] =>
  parseDelete(bytes(text)).entries.map(({ key }) => Buffer.from(key).toString());
const withKey = (key: string): string => `<Delete><Object><Key>${key}</Key></Object></Delete>`;

describe("CompleteMultipartUpload", () => {
  const complete = (parts: string): string =>
    `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`;
  const part = (number: string, etag = "a"): string =>
    `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`;

  test("has parts, as clients write them", () => {
    const body = `<?xml version="1.0" encoding="UTF-8"?>
      <!-- a comment -->
      ${complete(`
        <Part>
          <ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag>
          <PartNumber> 2 </PartNumber>
          <ChecksumCRC64NVME>AAAAAAAAAAA=</ChecksumCRC64NVME>
        </Part>
        ${part("1", '"b"')}${part("10000", "&#34;c&#x22;")}`)}
    `;
    expect(parseCompleteUpload(bytes(body))).toEqual([
      {
        number: 2,
        etag: "d41d8cd98f00b204e9800998ecf8427e",
        checksums: { crc64nvme: "AAAAAAAAAAA=" },
      },
      { number: 1, etag: "b", checksums: {} },
      { number: 10_000, etag: "c", checksums: {} },
    ]);
  });

  test("may have 10,000 parts with checksums, in little time", () => {
    const one = (i: number): string =>
      `<Part><PartNumber>${i}</PartNumber><ETag>&quot;${"0".repeat(32)}&quot;</ETag><ChecksumSHA256>${"A".repeat(43)}=</ChecksumSHA256></Part>`;
    const numbers = Array.from({ length: 10_000 }, (_, i) => i + 1);
    const start = performance.now();
    expect(parseCompleteUpload(bytes(complete(numbers.map(one).join(""))))).toHaveLength(10_000);
    expect(performance.now() - start).toBeLessThan(5000);
    expectCode(
      () => parseCompleteUpload(bytes(complete(part("1").repeat(10_001)))),
      "MalformedXML",
    );
  });

  test.each([
    complete(""),
    complete("text"),
    complete("<Part/>"),
    complete("<Part><PartNumber>1</PartNumber></Part>"),
    complete("<Part><ETag>a</ETag></Part>"),
    complete(part("one")),
    complete(part("1.5")),
    complete(part("")),
    complete(part("<A/>1")),
    complete(`${part("1")}text`),
    complete(`${part("1")}<Other/>`),
    complete(part("1").replace("<ETag>", "<Other>1</Other><ETag>")),
    complete(part("1").replace("<ETag>", "<PartNumber>2</PartNumber><ETag>")),
    complete(part("1").replace("<ETag>", "<ETag>b</ETag><ETag>")),
    complete(part("1", "<A>a</A>")),
    part("1"),
    `${complete(part("1"))}${complete(part("1"))}`,
    complete(part("1")).slice(0, -1),
    complete(part("1")).slice(0, -30),
    `${complete(part("1"))}text`,
  ])("%j is refused", (body) => {
    expectCode(() => parseCompleteUpload(bytes(body)), "MalformedXML");
  });

  test.each(["0", "-1", "10001"])("a part cannot have the number %s", (number) => {
    expectCode(() => parseCompleteUpload(bytes(complete(part(number)))), "InvalidArgument");
  });
});

describe("DeleteObjects", () => {
  test("has keys with versions and conditions", () => {
    const body = `<Delete><Quiet>true</Quiet><Object><Key> a&amp;b </Key><VersionId>null</VersionId></Object>
      <Object><Key>c</Key><ETag>"e"</ETag><Size>5</Size><LastModifiedTime>Tue, 03 Feb 2026 12:00:00 GMT</LastModifiedTime></Object></Delete>`;
    const { isQuiet, entries } = parseDelete(bytes(body));
    expect(isQuiet).toBe(true);
    expect(entries).toEqual([
      {
        key: new Uint8Array(Buffer.from(" a&b ")),
        versionId: "null",
        etag: undefined,
        size: undefined,
        lastModified: undefined,
      },
      {
        key: new Uint8Array(Buffer.from("c")),
        versionId: undefined,
        etag: "e",
        size: 5,
        lastModified: Date.UTC(2026, 1, 3, 12),
      },
    ]);
  });

  test("takes keys with references, CDATA and any UTF-8", () => {
    expect(keysOf(withKey("&lt;&#x41;&#66;&amp;amp;"))).toEqual(["<AB&amp;"]);
    expect(keysOf(withKey("a<![CDATA[<b>&amp;]]>c"))).toEqual(["a<b>&amp;c"]);
    expect(keysOf(withKey("žluťoučký 日本 🦊"))).toEqual(["žluťoučký 日本 🦊"]);
    expect(keysOf(withKey("&#x1;&#13;&#10;"))).toEqual(["\u0001\r\n"]);
    expect(keysOf(withKey("__proto__"))).toEqual(["__proto__"]);
  });

  test("has 1 to 1,000 of them", () => {
    const objects = (count: number): string =>
      `<Delete>${"<Object><Key>k</Key></Object>".repeat(count)}</Delete>`;
    expect(keysOf(objects(1000))).toHaveLength(1000);
    for (const count of [0, 1001]) expectCode(() => keysOf(objects(count)), "MalformedXML");
  });

  test.each([
    "",
    " ",
    "<Delete/>",
    "<Other><Object><Key>k</Key></Object></Other>",
    "<Delete><Object/></Delete>",
    withKey(""),
    withKey("<A/>"),
    withKey("a</Key><Key>b"),
    withKey("a</Key><Other>b</Other><Key>"),
    withKey("&#0;"),
    withKey("&#xD800;"),
    withKey("&#x110000;"),
    withKey("&unknown;"),
    withKey("&"),
    withKey("&#;"),
    withKey("a</Key><Size>x</Size><Key>"),
    "<Delete><Object><Key>k</Key><Size>-1</Size></Object></Delete>",
    "<Delete><Object><Key>k</Key><LastModifiedTime>now</LastModifiedTime></Object></Delete>",
    "<Delete><Quiet>yes</Quiet><Object><Key>k</Key></Object></Delete>",
    "<Delete><Quiet>true</Quiet><Quiet>false</Quiet><Object><Key>k</Key></Object></Delete>",
    "<Delete><Object><Key>k</Object></Key></Delete>",
    "<Delete><Object><Key>k</Key></Object>",
    "<Delete><Object><Key>k</Key></Object></Delete",
    "<delete><object><key>k</key></object></delete>",
    "<__proto__><Object><Key>k</Key></Object></__proto__>",
    '{"Delete": 1}',
  ])("%j is refused", (body) => {
    expectCode(() => keysOf(body), "MalformedXML");
  });

  test("is UTF-8", () => {
    const invalid = Buffer.from(withKey("\u00e9"), "latin1");
    expectCode(() => parseDelete(invalid), "MalformedXML");
    const utf16 = Buffer.from(`\uFEFF${withKey("k")}`, "utf16le");
    expectCode(() => parseDelete(utf16), "MalformedXML");
    expect(keysOf(`\uFEFF${withKey("k")}`)).toEqual(["k"]);
  });

  test("of any bytes is parsed or refused", () => {
    const words = fc.constantFrom(
      "<Delete>",
      "</Delete>",
      "<Object>",
      "</Object>",
      "<Key>",
      "</Key>",
      "k",
      "&amp;",
      "<![CDATA[",
      "]]>",
      "<!--",
      "-->",
      "<?x",
      "?>",
      "<",
      ">",
      "&#",
      ";",
      "\0",
      '"',
      "=",
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
        try {
          parseDelete(bytes(parts.join("")));
        } catch (error) {
          expect(error).toMatchObject({ code: "MalformedXML" });
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("XML that is made to be expensive", () => {
  const entities = Array.from(
    { length: 10 },
    (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`,
  );
  const mebibytes = (text: string, count = 4): string =>
    text.repeat((count * 2 ** 20) / text.length);
  test.each([
    [
      "a billion laughs",
      `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "x">${entities.join("")}]>${withKey("&e10;")}`,
    ],
    [
      "an external entity",
      `<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>${withKey("&e;")}`,
    ],
    ["a document type in lower case", `<!doctype d>${withKey("k")}`],
    ["deep nesting", mebibytes("<a>", 1)],
    [
      "deep nesting that is closed",
      `<Delete>${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}</Delete>`,
    ],
    ["many elements", `<Delete>${mebibytes("<a/>")}</Delete>`],
    [
      "many attributes",
      `<Delete ${Array.from({ length: 100_000 }, (_, i) => `a${i}="1"`).join(" ")}></Delete>`,
    ],
    ["many references", withKey(mebibytes("&#97;"))],
    ["a comment without end", `<Delete><!--${mebibytes("-")}`],
    ["CDATA without end", `<Delete><![CDATA[${mebibytes("]")}`],
    ["an instruction without end", `<Delete><?${mebibytes("?")}`],
    ["a tag without end", `<Delete><${mebibytes("a ")}`],
    ["an attribute without end", `<Delete a="${mebibytes("b ")}`],
    [
      "attributes in many tags",
      `<Delete>${`<Object ${'a="1" '.repeat(150)}/>`.repeat(4000)}</Delete>`,
    ],
    ["many instructions", `${`<?x ${"a ".repeat(400)}?>`.repeat(4000)}${withKey("k")}`],
    ["a long key", withKey(mebibytes("k"))],
    ["blanks", mebibytes("  ")],
    ["many open brackets", mebibytes("<<")],
  ])("%s takes little time", (_, body) => {
    const start = performance.now();
    try {
      // Only a key that is as long as the body is well-formed.
      expect(parseDelete(bytes(body)).entries[0]!.key.length).toBe(4 * 2 ** 20);
    } catch (error) {
      expect(error).toMatchObject({ code: "MalformedXML" });
    }
    expect(performance.now() - start).toBeLessThan(3000);
  });
});

describe("XML", () => {
  test.each([
    `<?xml version='1.0'?>${withKey("k")}`,
    `\uFEFF<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>\n${withKey("k")}\n<!-- end -->`,
    `<Delete xmlns = 'http://s3.amazonaws.com/doc/2006-03-01/' ><Object ><Key\n>k</Key ></Object\t></Delete>`,
    `<Delete><!-- <Object> --><Object><Key>k</Key></Object></Delete>`,
    `<Delete a="1 > 0"><Object><Key>k</Key></Object></Delete>`,
  ])("%j is well-formed", (body) => {
    expect(keysOf(body)).toEqual(["k"]);
  });

  test.each([
    `<?xml version="1.0"?><?xml version="1.0"?>${withKey("k")}`,
    `<?xml version="1.0"${withKey("k")}`,
    `text${withKey("k")}`,
    `<![CDATA[ ]]>${withKey("k")}`,
    `${withKey("k")}<![CDATA[ ]]>`,
    `${withKey("k")}<Delete/>`,
    `${withKey("k")}</Delete>`,
    withKey("<k>"),
    withKey("</k>"),
    withKey("< /Key>"),
    "<Delete><Object><Key>k</Key></Object></ Delete>",
    "<Delete><Object><1Key>k</1Key></Object></Delete>",
    "<Delete a><Object><Key>k</Key></Object></Delete>",
    "<Delete a=1><Object><Key>k</Key></Object></Delete>",
    "<Delete a='1'b='2'><Object><Key>k</Key></Object></Delete>",
    `<Delete a="<"><Object><Key>k</Key></Object></Delete>`,
    `<Delete a="1><Object><Key>k</Key></Object></Delete>`,
    "<Delete / ><Object><Key>k</Key></Object></Delete>",
    `<Delete>${"<Object>".repeat(8)}${"</Object>".repeat(8)}</Delete>`,
    "<>",
    "<",
  ])("%j is not", (body) => {
    expectCode(() => keysOf(body), "MalformedXML");
  });
});

describe("CreateBucket", () => {
  const create = (text: string): string =>
    `<CreateBucketConfiguration>${text}</CreateBucketConfiguration>`;
  test("may name a region", () => {
    const region = create("<LocationConstraint> eu-west-1 </LocationConstraint>");
    expect(parseCreateBucket(bytes(region))).toBe("eu-west-1");
    expect(parseCreateBucket(bytes(create("<LocationConstraint/>")))).toBeUndefined();
    expect(parseCreateBucket(bytes(create("")))).toBeUndefined();
    expect(parseCreateBucket(bytes(""))).toBeUndefined();
    expectCode(() => parseCreateBucket(bytes(create("<Tags/>"))), "NotImplemented");
    expectCode(() => parseCreateBucket(bytes(create("<Other/>"))), "MalformedXML");
  });
});

describe("tags", () => {
  const tagging = (...tags: (readonly [key: string, value: string])[]): string =>
    `<Tagging><TagSet>${tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join("")}</TagSet></Tagging>`;

  test("keep their order", () => {
    expect(parseTagging(bytes(tagging(["b", "1"], ["a", ""])))).toEqual([
      ["b", "1"],
      ["a", ""],
    ]);
    expect(parseTagging(bytes(tagging()))).toEqual([]);
    expect(parseTaggingHeader("b=1&a&c+d=%C5%BE%2B")).toEqual([
      ["b", "1"],
      ["a", ""],
      ["c d", "ž+"],
    ]);
    for (const nothing of ["", "&", "&&"]) expect(parseTaggingHeader(nothing)).toEqual([]);
    expect(parseTaggingHeader("a=1&")).toEqual([["a", "1"]]);
  });

  test("are limited", () => {
    const many = (count: number) =>
      tagging(...Array.from({ length: count }, (_, i) => [`k${i}`, "v"] as const));
    expect(parseTagging(bytes(many(10)))).toHaveLength(10);
    expectCode(() => parseTagging(bytes(many(11))), "BadRequest");
    // By character, not by UTF-16 code unit.
    parseTagging(bytes(tagging(["𝓀".repeat(128), "v".repeat(256)])));
    for (const tag of [
      ["k".repeat(129), ""],
      ["k", "v".repeat(257)],
      ["", "v"],
      ["k;", "v"],
      ["k", "v#"],
    ] as const) {
      expectCode(() => parseTagging(bytes(tagging(tag))), "InvalidTag");
    }
    expectCode(() => parseTagging(bytes(tagging(["k", "1"], ["k", "2"]))), "InvalidTag");
    for (const header of ["k=1&k=2", "=v", "k%"]) {
      expectCode(() => parseTaggingHeader(header), "InvalidArgument");
    }
  });

  test("are refused before they are counted, if there are very many elements", () => {
    const many = tagging(...Array.from({ length: 400 }, (_, i) => [`k${i}`, "v"] as const));
    expectCode(() => parseTagging(bytes(many)), "MalformedXML");
  });

  test.each([
    "<Tagging/>",
    "<Tagging><TagSet><Tag><Key>k</Key></Tag></TagSet></Tagging>",
    "<Tagging><TagSet><Other/></TagSet></Tagging>",
    "<Tagging><TagSet/><TagSet/></Tagging>",
    "<Tagging><TagSet><Tag><Key>k<A/></Key><Value/></Tag></TagSet></Tagging>",
  ])("%j is refused", (body) => {
    expectCode(() => parseTagging(bytes(body)), "MalformedXML");
  });

  test("have to be encoded in the header", () => {
    expectCode(() => parseTaggingHeader("a=%"), "InvalidArgument");
  });
});
