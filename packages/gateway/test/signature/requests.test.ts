import { decodePath, parseRequest, splitPath } from "../../src/signature/request.ts";
import { describe, expect, test } from "bun:test";
import { expectCode } from "../support.ts";
import fc from "fast-check";

const parse = (target: string, rawHeaders: readonly string[] = []) =>
  parseRequest({ method: "GET", target, rawHeaders });

describe("a target", () => {
  test.each([
    "",
    "b/k",
    "http://host/b/k",
    "*",
    "/%",
    "/%f",
    "/%zz",
    "/%ff",
    "/b/%ED%A0%80",
    "/a b",
    "/a#b",
    "/a\r\nb",
    "/\u{100}",
    "/\u00e9",
    "/?a=%",
    "/?%C3",
    "/?a=%FF",
  ])("%j is refused", (target) => {
    expectCode(() => parse(target), "InvalidURI");
  });

  test("is split without regard to dots and double slashes", () => {
    const split = (path: string) => {
      const { first, rest } = splitPath(path);
      return [first, Buffer.from(rest).toString()];
    };
    expect(split("/")).toEqual(["", ""]);
    expect(split("/b")).toEqual(["b", ""]);
    expect(split("/b/")).toEqual(["b", ""]);
    expect(split("/b//lead")).toEqual(["b", "/lead"]);
    expect(split("/b/a//b/./../c%2F%00/")).toEqual(["b", "a//b/./../c/\0/"]);
    expect(Buffer.from(decodePath("/a//b")).toString()).toBe("a//b");
  });

  test("has a query with each name once", () => {
    expect(parse("/?a=1&b&c=%26=+&&=x").query).toEqual(
      new Map([
        ["a", "1"],
        ["b", ""],
        ["c", "&= "],
        ["", "x"],
      ]),
    );
    expectCode(() => parse("/?prefix=a&prefix=b"), "InvalidArgument");
    expectCode(() => parse("/?prefix&%70refix"), "InvalidArgument");
    expectCode(
      () => parse(`/?${Array.from({ length: 101 }, (_, i) => `n${i}`).join("&")}`),
      "InvalidRequest",
    );
  });

  test("decodes every key of UTF-8", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (key) => {
        const path = `/b/${[...Buffer.from(key)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")}`;
        const { rest } = splitPath(parse(path).rawPath);
        expect(Buffer.from(rest).toString()).toBe(key);
      }),
    );
  });
});

describe("headers", () => {
  test("are trimmed, in lower case, and lists are joined", () => {
    const { headers } = parse("/", [
      "Host",
      " \t h \t",
      "X-Amz-Meta-A",
      "1",
      "x-amz-meta-a",
      "2",
      "If-Match",
      "a",
      "if-match",
      "b",
    ]);
    expect(headers).toEqual(
      new Map([
        ["host", "h"],
        ["x-amz-meta-a", "1,2"],
        ["if-match", "a,b"],
      ]),
    );
  });

  test.each([
    "Host",
    "Authorization",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-copy-source",
    "x-amz-decoded-content-length",
    "x-amz-trailer",
    "x-amz-checksum-crc32",
    "Content-Length",
    "Content-MD5",
    "Content-Type",
    "Transfer-Encoding",
    "Date",
    "Expect",
    "Range",
  ])("%s must not be repeated", (name) => {
    expectCode(() => parse("/", [name, "1", name.toLowerCase(), "1"]), "InvalidRequest");
  });

  test.each([
    ["x-amz-meta-a", "folded\r\n value"],
    ["x-amz-meta-a", "folded\n\tvalue"],
    ["x-amz-meta-a", "NUL\0"],
    ["x-amz-meta-a", "delete\x7F"],
    ["x-amz-meta-a", "more than a byte: \u{101}"],
    ["x-amz-meta-a ", "a blank before the colon"],
    ["x-amz-\u00e9", "a name beyond ASCII"],
    ["", "no name"],
  ])("%j: %j is refused", (name, value) => {
    expectCode(() => parse("/", [name, value]), "InvalidRequest");
  });

  test("do not state two lengths", () => {
    const both = ["Content-Length", "5", "Transfer-Encoding", "chunked"];
    expectCode(() => parse("/", both), "InvalidRequest");
  });

  test("are limited in number", () => {
    const many = Array.from({ length: 201 }, (_, i) => [`a${i}`, ""]).flat();
    expectCode(() => parse("/", many), "RequestHeaderSectionTooLarge");
  });

  test("take linear time for blanks", () => {
    const value = `a${" ".repeat(1_000_000)}b`;
    const start = performance.now();
    expect(parse("/", ["x-amz-meta-a", value]).headers.get("x-amz-meta-a")).toHaveLength(1_000_002);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
