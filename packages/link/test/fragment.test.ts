import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Fragment, formatFragment, parseFragment } from "../src/fragment.ts";
import { type LinkError } from "../src/errors.ts";
import { isBase, type Place, urlOf } from "../src/place.ts";

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
const address = bytes.map((given) => Buffer.from(given).toString("hex"));
const place: fc.Arbitrary<Place> = fc.record({
  base: fc.constantFrom(
    "https://files.s3.eu-central-1.amazonaws.com/",
    "https://minio.example:9000/files/a%20b/~c/",
    "http://127.0.0.1:9000/files/",
    "http://localhost:9000/files/",
  ),
  presigned: fc.record({
    region: fc.constantFrom("us-east-1", "my ~region"),
    accessKeyId: fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    signedAt: fc.constantFrom("20260102T030405Z", "20240229T235959Z"),
    expiresIn: fc.integer({ min: 1, max: 604_800 }),
    sessionToken: fc.string({ unit: "grapheme", maxLength: 12 }),
  }),
});
const presignedFragment: fc.Arbitrary<Fragment> = fc.record({
  place,
  address,
  signature: bytes,
  secret: bytes,
});

const known: Fragment = {
  place: {
    base: "https://minio.example:9000/files/",
    presigned: {
      region: "us-east-1",
      accessKeyId: "KEY",
      signedAt: "20260102T030405Z",
      expiresIn: 3600,
      sessionToken: "a+b/c=",
    },
  },
  address: "01".repeat(32),
  signature: new Uint8Array(32).fill(2),
  secret: new Uint8Array(32).fill(3),
};
const KNOWN =
  "1~minio.example:9000/files/~us-east-1~KEY~20260102T030405Z~3600~a+b/c=" +
  "~AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI" +
  "~AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE" +
  "~AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM";

const codeOf = (text: string): string => {
  try {
    parseFragment(text);
    return "accepted";
  } catch (error) {
    return (error as LinkError).code;
  }
};

test("a fragment has a known form", () => {
  expect(formatFragment(known)).toBe(KNOWN);
  expect(parseFragment(KNOWN)).toEqual(known);
  expect(urlOf(known.place, known.address, known.signature)).toBe(
    `https://minio.example:9000/files/${known.address}?X-Amz-Algorithm=AWS4-HMAC-SHA256` +
      "&X-Amz-Credential=KEY%2F20260102%2Fus-east-1%2Fs3%2Faws4_request" +
      "&X-Amz-Date=20260102T030405Z&X-Amz-Expires=3600&X-Amz-Security-Token=a%2Bb%2Fc%3D" +
      `&X-Amz-SignedHeaders=host&X-Amz-Signature=${"02".repeat(32)}`,
  );
});

test("what is formatted is parsed, and has characters of fragments only", () => {
  fc.assert(
    fc.property(presignedFragment, (given) => {
      const text = formatFragment(given);
      expect(text).toMatch(/^[\w~.%/:=+-]+$/u);
      expect(new URL(`https://x/#${text}`).hash).toBe(`#${text}`);
      expect(parseFragment(text)).toEqual(given);
    }),
  );
});

test("a fragment of public addresses is parsed", () => {
  const given: Fragment = {
    place: { base: "https://blobs.example/idk/", presigned: undefined },
    address: "01".repeat(32),
    signature: new Uint8Array(0),
    secret: new Uint8Array(32).fill(3),
  };
  const text = formatFragment(given);
  expect(text.split("~")).toHaveLength(4);
  expect(parseFragment(text)).toEqual(given);
  expect(urlOf(given.place, given.address, given.signature)).toBe(
    `https://blobs.example/idk/${"01".repeat(32)}`,
  );
});

test("a fragment that is cut anywhere is not complete", () => {
  for (let end = 0; end < KNOWN.length; end++) {
    expect(codeOf(KNOWN.slice(0, end))).toBe("malformed");
  }
});

test("no other spelling of a fragment is accepted", () => {
  fc.assert(
    fc.property(
      fc.nat({ max: KNOWN.length - 1 }),
      fc.constantFrom(...Array.from("~.%/:=+-_aA1 #\n\0é")),
      fc.boolean(),
      (at, character, insert) => {
        const text = KNOWN.slice(0, at) + character + KNOWN.slice(insert ? at : at + 1);
        if (codeOf(text) === "accepted") expect(formatFragment(parseFragment(text))).toBe(text);
      },
    ),
    { numRuns: 500 },
  );
});

describe("hostile fragments", () => {
  const replaced = (index: number, text: string): string =>
    KNOWN.split("~")
      .map((field, at) => (at === index ? text : field))
      .join("~");

  test.each([
    ["a user", "user:secret@minio.example/files/"],
    ["plain HTTP elsewhere", "http://minio.example/files/"],
    ["a host that only begins like this machine", "http://127.0.0.1.example/files/"],
    ["another scheme", "javascript:alert(1)//"],
    ["a scheme again", "https://minio.example/files/"],
    ["a query", "minio.example/files/?x=/"],
    ["a fragment", "minio.example/files/#/"],
    ["no path", "minio.example"],
    ["a parent folder", "minio.example/files/../"],
    ["an encoded parent folder", "minio.example/files/%2e%2e/"],
    ["a backslash", "minio.example\\files/"],
    ["upper case", "MINIO.example/files/"],
    ["a default port", "minio.example:443/files/"],
    ["a number for an address", "2130706433/files/"],
    ["an empty host", "/files/"],
  ])("%s is refused", (_, base) => {
    expect(codeOf(replaced(1, base))).toBe("malformed");
  });

  test.each([
    ["no region", 2, ""],
    ["no access key", 3, ""],
    ["a broken escape", 3, "%E0%A4%A"],
    ["a day that does not exist", 4, "20260231T030405Z"],
    ["a time that is none", 4, "now"],
    ["no seconds", 5, "0"],
    ["more than 7 days", 5, "604801"],
    ["a number in another form", 5, "36e2"],
    ["a negative number", 5, "-1"],
    ["a parameter in the token", 6, "a&X-Amz-Expires=1"],
    ["a longer signature", 7, "A".repeat(44)],
    ["padding", 8, `${"A".repeat(42)}=`],
    ["bits after the end", 9, "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwN"],
  ] as const)("%s is refused", (_, index, text) => {
    expect(codeOf(replaced(index, text))).toBe("malformed");
  });

  test("a later version is told apart", () => {
    expect(codeOf(KNOWN.replace(/^1/u, "2"))).toBe("version");
    expect(codeOf(KNOWN.replace(/^1/u, "0"))).toBe("malformed");
    expect(codeOf(KNOWN.replace(/^1/u, "12345"))).toBe("malformed");
  });

  test("length is bounded", () => {
    expect(codeOf(replaced(6, "a".repeat(2000)))).toBe("malformed");
  });

  test("messages do not repeat the link", () => {
    for (const text of [
      KNOWN.slice(0, -1),
      replaced(7, "SECRETSECRET"),
      replaced(9, "!".repeat(43)),
    ]) {
      const error = (() => {
        try {
          parseFragment(text);
        } catch (thrown) {
          return thrown as LinkError;
        }
        throw new Error("accepted");
      })();
      expect(`${error.message} ${String(error.cause)}`).not.toMatch(/AwMD|SECRET|!/u);
    }
  });
});

test("a base has one spelling", () => {
  expect(isBase("https://example.com/")).toBe(true);
  expect(isBase("https://example.com")).toBe(false);
  expect(isBase("https://example.com/a")).toBe(false);
  expect(isBase("http://localhost:9000/a/")).toBe(true);
  expect(isBase("http://[::1]:9000/a/")).toBe(false);
});
