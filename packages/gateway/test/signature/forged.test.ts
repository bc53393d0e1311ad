import {
  ACCESS_KEY,
  AMZ_DATE,
  NOW,
  SCOPE,
  SECRET,
  type TestRequest,
  accept,
  signed,
  withHeader,
} from "./support.ts";
import { describe, expect, test } from "bun:test";
import { errorOf, expectCode } from "../support.ts";
import fc from "fast-check";
import { presignBySmithy, signBySmithy } from "./smithy.ts";
import { splitPath } from "../../src/signature/request.ts";

const arbitraryRequest = fc.record({
  method: fc.constantFrom("GET", "PUT", "DELETE", "POST"),
  key: fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
  query: fc.dictionary(
    fc.constantFrom("prefix", "uploads", "uploadId", "partNumber", "x y", "ž"),
    fc.string({ unit: "grapheme", maxLength: 20 }),
  ),
  headers: fc.record({
    "x-amz-meta-a": fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 30,
    }),
  }),
});

describe("requests that @smithy/signature-v4 signs", () => {
  test("are accepted, with any key and query", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryRequest, async (input) => {
        const accepted = accept(await signBySmithy(input));
        expect(Buffer.from(splitPath(accepted.rawPath).rest).toString()).toBe(input.key);
        expect(Object.fromEntries(accepted.query)).toEqual(input.query);
      }),
    );
  });

  test("are accepted as URLs, with headers as parameters", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryRequest, async (input) => {
        const request = await presignBySmithy(input);
        expect(request.target).toContain("x-amz-meta-a=");
        const accepted = accept(request);
        expect(accepted.mechanism).toBe("presigned");
        expect(accepted.headers.get("x-amz-meta-a")).toBe(input.headers["x-amz-meta-a"]);
        expect(Object.fromEntries(accepted.query)).toEqual(input.query);
      }),
    );
  });

  test("are refused if anything is changed", async () => {
    const input = {
      method: "PUT",
      key: "a/b c",
      query: { uploadId: "1" },
      headers: { "x-amz-meta-a": "m" },
    };
    const request = await signBySmithy(input);
    accept(request);
    const headers = new Map(request.headers);
    const changed: TestRequest[] = [
      { ...request, method: "DELETE" },
      { ...request, target: request.target.replace("/b/a", "/b/b") },
      { ...request, target: request.target.replace("/b/a/", "/b/a//") },
      { ...request, target: request.target.replace("/b/a/", "/b/./a/") },
      { ...request, target: request.target.replace("uploadId=1", "uploadId=2") },
      { ...request, target: request.target.replace("?uploadId=1", "") },
      { ...request, target: `${request.target}&partNumber=1` },
      { ...request, target: `${request.target}&X-Amz-Signature2=1` },
      withHeader(request, "host", "127.0.0.1:9001"),
      withHeader(request, "x-amz-meta-a", "n"),
      withHeader(request, "x-amz-meta-a", undefined),
      withHeader(request, "x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
      withHeader(request, "x-amz-date", AMZ_DATE.replace("00Z", "01Z")),
    ];
    for (const other of changed) expectCode(() => accept(other), "SignatureDoesNotMatch");
    const signature = headers.get("authorization")!.slice(-64);
    for (let at = 0; at < 64; at++) {
      const digit = signature[at] === "0" ? "1" : "0";
      const forged = signature.slice(0, at) + digit + signature.slice(at + 1);
      const authorization = headers.get("authorization")!.replace(signature, forged);
      const other = withHeader(request, "authorization", authorization);
      expectCode(() => accept(other), "SignatureDoesNotMatch");
    }
  });
});

const UNSIGNED = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };

describe("a path", () => {
  test.each([
    ["as AWS encodes it", "/b/a%20%2B%28%29~"],
    ["as it is sent, with fewer characters encoded", "/b/a%20+()~!*'"],
    ["as it is sent, with more characters encoded", "/b/%61%2Fb%7E"],
    ["as it is sent, with digits in lower case", "/b/%c5%be"],
  ])("is accepted if it is signed %s", (_, path) => {
    expect(accept(signed("GET", path, "", UNSIGNED)).rawPath).toBe(path);
  });

  test("is not normalised", () => {
    for (const path of ["/b/a//b", "/b/./a", "/b/../b/a", "/b//", "//b/a"]) {
      expect(accept(signed("GET", path, "", UNSIGNED)).rawPath).toBe(path);
    }
    const target = "/b/a/b";
    for (const path of ["/b/a//b", "/b/./a/b", "/b/x/../a/b", "/b/a%2Fb"]) {
      // The last of these is the same key in another spelling.
      const request = { ...signed("GET", path, "", UNSIGNED), target };
      expectCode(() => accept(request), "SignatureDoesNotMatch");
    }
  });
});

describe("headers that are not signed", () => {
  test.each([
    ["x-amz-copy-source", "b/secret"],
    ["x-amz-meta-a", "1"],
    ["x-amz-acl", "public-read"],
    ["X-Amz-Tagging", "a=b"],
  ])("%s is refused", (name, value) => {
    const error = errorOf(() =>
      accept(withHeader(signed("PUT", "/b/k", "", UNSIGNED), name, value)),
    );
    expect([error.code, error.details]).toEqual([
      "AccessDenied",
      { HeadersNotSigned: name.toLowerCase() },
    ]);
  });

  test.each(["host", "x-amz-date", "x-amz-content-sha256"])("%s is refused", (name) => {
    const request = signed("PUT", "/b/k", "", UNSIGNED, [name]);
    expect(errorOf(() => accept(request)).details).toEqual({ HeadersNotSigned: name });
  });

  test("are others, such as Content-Type and Range", () => {
    const request = signed("PUT", "/b/k", "", UNSIGNED);
    expect(accept(withHeader(request, "range", "bytes=0-1")).headers.get("range")).toBe(
      "bytes=0-1",
    );
  });

  test("a signed one that is missing is refused", () => {
    const request = signed("PUT", "/b/k", "", { ...UNSIGNED, "content-type": "" });
    expectCode(
      () => accept(withHeader(request, "content-type", undefined)),
      "SignatureDoesNotMatch",
    );
  });
});

describe("the time", () => {
  const request = signed("GET", "/b/k", "", UNSIGNED);

  test("may differ by 15 minutes", () => {
    const limit = 15 * 60_000;
    for (const skew of [-limit, 0, limit]) accept(request, { now: NOW + skew });
    for (const skew of [-limit - 1, limit + 1]) {
      expectCode(() => accept(request, { now: NOW + skew }), "RequestTimeTooSkewed");
    }
  });

  test.each([
    "",
    "yesterday",
    "20260203",
    "20260230T120000Z",
    "20260203T120000",
    "2026-02-03T12:00:00Z",
  ])("%j is refused", (date) => {
    expectCode(() => accept(withHeader(request, "x-amz-date", date)), "AccessDenied");
  });

  test("may be in the header Date, if that is signed", () => {
    const date = { ...UNSIGNED, date: "Tue, 03 Feb 2026 12:00:00 GMT" };
    const without = (left: readonly string[]): TestRequest =>
      withHeader(signed("GET", "/b/k", "", date, left), "x-amz-date", undefined);
    accept(without(["x-amz-date"]));
    const unsigned = errorOf(() => accept(without(["x-amz-date", "date"])));
    expect(unsigned.details).toEqual({ HeadersNotSigned: "date" });
  });

  test("has to be that of the credential", () => {
    const other = withHeader(request, "x-amz-date", "20260204T000000Z");
    expectCode(() => accept(other, { now: NOW + 43_200_000 }), "AuthorizationHeaderMalformed");
  });
});

describe("the header Authorization", () => {
  const request = signed("GET", "/b/k", "", UNSIGNED);
  const valid = request.headers.at(-1)![1];
  const withAuthorization = (value: string): TestRequest =>
    withHeader(request, "authorization", value);

  test.each([
    ["AWS4-HMAC-SHA256", "AuthorizationHeaderMalformed"],
    [valid.replace("Credential=", "Credential"), "AuthorizationHeaderMalformed"],
    [valid.replace("Credential=", "Name="), "AuthorizationHeaderMalformed"],
    [valid.replace(/Signature=.*/u, "Signature="), "AuthorizationHeaderMalformed"],
    [valid.replace(/Signature=.*/u, `Signature=${"g".repeat(64)}`), "AuthorizationHeaderMalformed"],
    [`${valid}00`, "AuthorizationHeaderMalformed"],
    [`${valid}, Signature=${"0".repeat(64)}`, "AuthorizationHeaderMalformed"],
    [`${valid}, More=1`, "AuthorizationHeaderMalformed"],
    [valid.replace("=host", "=Host"), "AuthorizationHeaderMalformed"],
    [valid.replace("=host;", "=host;host;"), "AuthorizationHeaderMalformed"],
    [valid.replace("=host", "=;host"), "AuthorizationHeaderMalformed"],
    [valid.replace(SCOPE, "20260203/us-east-1/s3"), "AuthorizationHeaderMalformed"],
    [valid.replace("/s3/", "/sns/"), "AuthorizationHeaderMalformed"],
    [valid.replace("aws4_request", "aws5_request"), "AuthorizationHeaderMalformed"],
    [valid.replace("20260203/", "2026-203/"), "AuthorizationHeaderMalformed"],
    [valid.replace("us-east-1", ""), "AuthorizationHeaderMalformed"],
    [valid.replace(ACCESS_KEY, ""), "AuthorizationHeaderMalformed"],
    [valid.replace(ACCESS_KEY, "someone"), "InvalidAccessKeyId"],
    [valid.replace("us-east-1", "us-east-2"), "SignatureDoesNotMatch"],
    [`AWS ${ACCESS_KEY}:MyyxeRY7whkBe+bq8fHCL/2kKUg=`, "InvalidRequest"],
    [valid.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), "InvalidRequest"],
    ["Basic dTpw", "InvalidArgument"],
    ["", "InvalidArgument"],
  ] as const)("%j is refused", (value, code) => {
    expectCode(() => accept(withAuthorization(value)), code);
  });

  test("may come with blanks or without, and in another order", () => {
    accept(withAuthorization(valid.replaceAll(", ", ",")));
    accept(withAuthorization(valid.replaceAll(", ", " ,   ")));
    const [credential, headers, signature] = valid.slice("AWS4-HMAC-SHA256 ".length).split(", ");
    accept(withAuthorization(`AWS4-HMAC-SHA256 ${signature},${headers},${credential}`));
  });

  test("has to name the region, if there is one", () => {
    accept(request, { region: "us-east-1" });
    expectCode(() => accept(request, { region: "eu-west-1" }), "AuthorizationHeaderMalformed");
  });

  test("is not mixed with a signature in the query", () => {
    for (const query of ["X-Amz-Signature=1", "Signature=1", "AWSAccessKeyId=1"]) {
      const mixed = signed("GET", "/b/k", query, UNSIGNED);
      expectCode(() => accept(mixed), "InvalidArgument");
    }
  });

  test("is required", () => {
    expectCode(() => accept(withHeader(request, "authorization", undefined)), "AccessDenied");
  });

  test("comes without a session token, which nobody issues", () => {
    const headers = { ...UNSIGNED, "x-amz-security-token": "t" };
    expectCode(() => accept(signed("GET", "/b/k", "", headers)), "InvalidToken");
  });

  test("never returns the secret in an error", () => {
    const error = errorOf(() => accept(withHeader(request, "host", "other")));
    expect(JSON.stringify([error.message, error.details])).not.toContain(SECRET);
    expect(Object.keys(error.details)).toEqual([
      "AWSAccessKeyId",
      "StringToSign",
      "SignatureProvided",
      "CanonicalRequest",
    ]);
  });
});

describe("x-amz-content-sha256", () => {
  test.each([
    ["", "InvalidArgument"],
    ["STREAMING", "InvalidArgument"],
    ["unsigned-payload", "InvalidArgument"],
    ["STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "InvalidArgument"],
    ["0".repeat(63), "InvalidArgument"],
    ["0".repeat(65), "InvalidArgument"],
  ] as const)("%j is refused", (value, code) => {
    expectCode(() => accept(signed("PUT", "/b/k", "", { "x-amz-content-sha256": value })), code);
  });

  test("is required", () => {
    const request = signed("PUT", "/b/k", "", {}, ["x-amz-content-sha256"]);
    const without = withHeader(request, "x-amz-content-sha256", undefined);
    expectCode(() => accept(without), "InvalidRequest");
  });
});
