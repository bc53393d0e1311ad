import {
  ACCESS_KEY,
  AMZ_DATE,
  NOW,
  SCOPE,
  SECRET,
  type TestRequest,
  accept,
  hmac,
  keyOf,
  sha256,
} from "./support.ts";
import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { errorOf, expectCode } from "../support.ts";

type Pairs = Readonly<Record<string, string>>;

const HEADERS: readonly (readonly [string, string])[] = [["host", "127.0.0.1:9000"]];

function encode(pairs: Pairs): string {
  return Object.entries(pairs)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** Signs a URL by V4, with parameters that replace those of a proper one. */
function presigned(pairs: Pairs = {}, method = "GET", path = "/b/k"): TestRequest {
  const query = encode({
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${ACCESS_KEY}/${SCOPE}`,
    "X-Amz-Date": AMZ_DATE,
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host",
    ...pairs,
  });
  const names = pairs["X-Amz-SignedHeaders"] ?? "host";
  const canonical = [method, path, query, "host:127.0.0.1:9000", "", names, "UNSIGNED-PAYLOAD"];
  const text = ["AWS4-HMAC-SHA256", AMZ_DATE, SCOPE, sha256(canonical.join("\n"))].join("\n");
  const signature = hmac(keyOf(SECRET), text).toString("hex");
  return { method, target: `${path}?${query}&X-Amz-Signature=${signature}`, headers: HEADERS };
}

const replaced = (request: TestRequest, from: string | RegExp, to: string): TestRequest => ({
  ...request,
  target: request.target.replace(from, to),
});

describe("a presigned URL", () => {
  test("is valid from its time, less the skew, to its end", () => {
    const request = presigned();
    for (const now of [NOW - 900_000, NOW, NOW + 60_000]) accept(request, { now });
    for (const now of [NOW - 900_001, NOW + 60_001]) {
      expectCode(() => accept(request, { now }), "AccessDenied");
    }
  });

  test("may be valid for 7 days, not more", () => {
    const week = String(7 * 24 * 3600);
    accept(presigned({ "X-Amz-Expires": week }), { now: NOW + 7 * 86_400_000 });
    for (const expires of ["604801", "-1", "1.5", "1e3", "x", "9".repeat(20)]) {
      const request = presigned({ "X-Amz-Expires": expires });
      expectCode(() => accept(request), "AuthorizationQueryParametersError");
    }
  });

  test.each([
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
  ])("needs %s", (name) => {
    const pattern = new RegExp(`&?${name}=[^&]*`, "u");
    const without = replaced(replaced(presigned(), pattern, ""), "?&", "?");
    expectCode(() => accept(without), "AuthorizationQueryParametersError");
  });

  test.each([
    [{ "X-Amz-Algorithm": "AWS4-SHA256" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-Algorithm": "AWS4-ECDSA-P256-SHA256" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-Credential": "a/b/c" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-Credential": `someone/${SCOPE}` }, "InvalidAccessKeyId"],
    [{ "X-Amz-Date": "20260204T120000Z" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-Date": "now" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-SignedHeaders": "Host" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-SignedHeaders": "host;host" }, "AuthorizationQueryParametersError"],
    [{ "X-Amz-SignedHeaders": "range" }, "AccessDenied"],
    [{ "X-Amz-SignedHeaders": "host;range" }, "SignatureDoesNotMatch"],
    [{ "X-Amz-Security-Token": "t" }, "InvalidToken"],
    [{ "x-amz-security-token": "t" }, "InvalidToken"],
    [{ "X-Amz-Content-Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" }, "InvalidRequest"],
    [{ "X-Amz-Content-Sha256": "x" }, "InvalidArgument"],
    [{ "x-amz-meta-a": "two\r\nlines" }, "InvalidRequest"],
    [{ "x-amz-meta-a%0A": "1" }, "InvalidRequest"],
  ] as const)("with %j is refused", (pairs, code) => {
    expectCode(() => accept(presigned(pairs)), code);
  });

  test("is refused if it was changed", () => {
    const request = presigned({ "response-content-type": "text/plain" });
    accept(request);
    const changed = [
      { ...request, method: "PUT" },
      replaced(request, "/b/k", "/b/other"),
      replaced(request, "/b/k", "/b//k"),
      replaced(request, "Expires=60", "Expires=61"),
      replaced(request, "text%2Fplain", "text%2Fhtml"),
      replaced(request, "&response-content-type=text%2Fplain", ""),
      replaced(request, "?", "?acl&"),
      replaced(request, /.$/u, request.target.endsWith("0") ? "1" : "0"),
      replaced(request, /Signature=.*/u, "Signature=x"),
      { ...request, headers: [["host", "other"]] as const },
    ];
    for (const other of changed) expectCode(() => accept(other), "SignatureDoesNotMatch");
    const twice = replaced(request, "Expires=60", "Expires=60&X-Amz-Expires=600");
    expectCode(() => accept(twice), "InvalidArgument");
    const copied = { ...request, headers: [...HEADERS, ["x-amz-copy-source", "b/k"]] as const };
    expectCode(() => accept(copied), "AccessDenied");
  });

  test("has parameters that stand for headers, but for checksums", () => {
    const { headers, query } = accept(
      presigned({
        "X-Amz-Meta-Name": "ž",
        "x-amz-acl": "private",
        "x-amz-checksum-crc32": "AAAAAA==",
        "x-amz-sdk-checksum-algorithm": "CRC32",
        "x-id": "PutObject",
      }),
    );
    expect(Object.fromEntries(headers)).toEqual({
      host: "127.0.0.1:9000",
      "x-amz-acl": "private",
      "x-amz-meta-name": Buffer.from("ž").toString("latin1"),
    });
    expect(query).toEqual(new Map([["x-id", "PutObject"]]));
  });
});

/** Signs a URL by V2 over the lines given. */
function presignedV2(
  method: string,
  lines: readonly string[],
  resource: string,
  target: string,
): TestRequest {
  const expires = String(NOW / 1000 + 60);
  const text = [method, lines[0] ?? "", lines[1] ?? "", expires, ...lines.slice(2), resource].join(
    "\n",
  );
  const signature = createHmac("sha1", SECRET).update(text).digest("base64");
  const query = encode({ AWSAccessKeyId: ACCESS_KEY, Expires: expires, Signature: signature });
  return {
    method,
    target: `${target}${target.includes("?") ? "&" : "?"}${query}`,
    headers: HEADERS,
  };
}

describe("a URL presigned by V2", () => {
  test("names its bucket in the path or in the host", () => {
    accept(presignedV2("GET", [], "/b/k", "/b/k"));
    accept(presignedV2("GET", [], "/b/k", "/k"), { hostBucket: "b" });
    const mixed = presignedV2("GET", [], "/b/k", "/b/k");
    expectCode(() => accept(mixed, { hostBucket: "b" }), "SignatureDoesNotMatch");
  });

  test("signs its path in any spelling", () => {
    accept(presignedV2("GET", [], "/b/a%20b%2B", "/b/a%20b%2B"));
    accept(presignedV2("GET", [], "/b/a%20b%2B", "/b/a%20b+"));
    accept(presignedV2("GET", [], "/b/%c3%a9", "/b/%c3%a9"));
  });

  test("signs headers, which may come as parameters", () => {
    const lines = ["", "text/plain", "x-amz-acl:private", "x-amz-meta-a:1"];
    const request = presignedV2("PUT", lines, "/b/k", "/b/k");
    expectCode(() => accept(request), "SignatureDoesNotMatch");
    const headers = [
      ...HEADERS,
      ["Content-Type", "text/plain"],
      ["x-amz-meta-a", "1"],
      ["x-amz-acl", "private"],
    ] as const;
    accept({ ...request, headers });
    const target = "/b/k?Content-Type=text/plain&x-amz-meta-a=1&x-amz-acl=private";
    const accepted = accept(presignedV2("PUT", lines, "/b/k", target));
    expect(accepted.headers.get("content-type")).toBe("text/plain");
    expect(accepted.query).toEqual(new Map());
    const added = { ...request, headers: [...headers, ["x-amz-copy-source", "b/s"]] as const };
    expectCode(() => accept(added), "SignatureDoesNotMatch");
  });

  test.each(["header", "parameter"])("is for the body whose hash it signs, in a %s", (place) => {
    const of = (value: string) => {
      const target = place === "header" ? "/b/k" : `/b/k?x-amz-content-sha256=${value}`;
      const request = presignedV2("PUT", ["", "", `x-amz-content-sha256:${value}`], "/b/k", target);
      const added = place === "header" ? [["x-amz-content-sha256", value] as const] : [];
      return { ...request, headers: [...HEADERS, ...added] };
    };
    const hash = sha256("content");
    expect(accept(of(hash)).payload).toEqual({ form: "hash", sha256: hash });
    expect(accept(of("UNSIGNED-PAYLOAD")).payload).toEqual({ form: "unsigned" });
    for (const form of ["AWS4-HMAC-SHA256-PAYLOAD", "UNSIGNED-PAYLOAD-TRAILER"]) {
      expectCode(() => accept(of(`STREAMING-${form}`)), "InvalidRequest");
    }
    expectCode(() => accept(of("x")), "InvalidArgument");
  });

  test("does not let two headers be taken for one", () => {
    const lines = ["", "", "x-amz-acl:private", "x-amz-copy-source:/b/s"];
    const target = "/b/k?x-amz-acl=private%0Ax-amz-copy-source:/b/s";
    expectCode(() => accept(presignedV2("PUT", lines, "/b/k", target)), "InvalidRequest");
  });

  test("signs the parameters that choose an operation", () => {
    const resource = "/b/k?partNumber=1&uploadId=a b";
    const accepted = accept(presignedV2("PUT", [], resource, "/b/k?uploadId=a%20b&partNumber=1"));
    expect(Object.fromEntries(accepted.query)).toEqual({ partNumber: "1", uploadId: "a b" });
    const merged = presignedV2("PUT", [], resource, "/b/k?partNumber=1%26uploadId=a%20b");
    expectCode(() => accept(merged), "AccessDenied");
    const added = presignedV2("GET", [], "/b/k", "/b/k?acl");
    expectCode(() => accept(added), "SignatureDoesNotMatch");
  });

  test("may be of a listing, and has no other parameter that is not signed", () => {
    const { query } = accept(presignedV2("GET", [], "/b", "/b?prefix=a%26acl&list-type=2"));
    expect(Object.fromEntries(query)).toEqual({ prefix: "a&acl", "list-type": "2" });
    for (const name of ["attributes", "legal-hold", "publicAccessBlock", "anything"]) {
      expectCode(() => accept(presignedV2("GET", [], "/b/k", `/b/k?${name}`)), "AccessDenied");
    }
  });

  test("is refused if it was changed, or has expired", () => {
    const request = presignedV2("GET", [], "/b/k", "/b/k");
    accept(request, { now: NOW + 60_000 });
    const expired = errorOf(() => accept(request, { now: NOW + 60_001 }));
    expect([expired.code, expired.message]).toEqual(["AccessDenied", "Request has expired"]);
    for (const [from, to, code] of [
      ["/b/k", "/b/l", "SignatureDoesNotMatch"],
      [/Expires=\d+/u, "Expires=99999999999", "SignatureDoesNotMatch"],
      [/Expires=\d+/u, "Expires=x", "AccessDenied"],
      [/Expires=\d+/u, "Expires=", "AccessDenied"],
      [/Signature=./u, "Signature=.", "SignatureDoesNotMatch"],
      [/Signature=.*/u, "Signature=", "AccessDenied"],
      [ACCESS_KEY, "someone", "InvalidAccessKeyId"],
    ] as const) {
      expectCode(() => accept(replaced(request, from, to)), code);
    }
  });
});
