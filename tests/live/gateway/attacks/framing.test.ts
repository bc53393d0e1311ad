import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  type Attacked,
  attackedGateway,
  BUCKET,
  CLIENT_MAX,
  SLOW,
  statusesOf,
} from "./attacked.ts";

setDefaultTimeout(120_000);

const KEY = `/${BUCKET}/smuggled`;
let attacked: Attacked;

beforeAll(async () => {
  attacked = await attackedGateway();
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

const put = (...lines: readonly string[]): string =>
  attacked.head({ method: "PUT", target: `/${BUCKET}/front` }, ...lines);
/** A request that a server must not see, because another one sees it as the body of the first. */
const hidden = (): string => attacked.head({ method: "PUT", target: KEY }, "content-length: 1");

/** Lines of a PUT, and what follows its head. Servers in front may see its end elsewhere. */
const AMBIGUOUS: readonly (readonly [string, readonly string[], () => string])[] = [
  [
    "a length and chunks",
    ["Content-Length: 5", "Transfer-Encoding: chunked"],
    () => `0\r\n\r\n${hidden()}x`,
  ],
  [
    "chunks and a length",
    ["Transfer-Encoding: chunked", "Content-Length: 5"],
    () => `0\r\n\r\n${hidden()}x`,
  ],
  ["two lengths", ["Content-Length: 0", "Content-Length: 5"], () => `${hidden()}x`],
  ["the same length twice", ["Content-Length: 5", "Content-Length: 5"], () => "hello"],
  ["a list of lengths", ["Content-Length: 5, 5"], () => "hello"],
  ["a length with a sign", ["Content-Length: +5"], () => "hello"],
  ["a negative length", ["Content-Length: -5"], () => "hello"],
  ["a hexadecimal length", ["Content-Length: 0x5"], () => "hello"],
  ["a length beyond all numbers", ["Content-Length: 99999999999999999999999"], () => "hello"],
  ["an empty length", ["Content-Length: "], () => "hello"],
  ["a folded length", ["Content-Length:", " 5"], () => "hello"],
  ["a folded header", ["X-A: b", "\tc", "Content-Length: 0"], () => ""],
  ["a blank before a colon", ["Content-Length : 5"], () => "hello"],
  ["a blank before a name", [" Content-Length: 5"], () => "hello"],
  ["chunks twice", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], () => "0\r\n\r\n"],
  [
    "chunks that are not the last coding",
    ["Transfer-Encoding: chunked, identity"],
    () => "0\r\n\r\n",
  ],
  ["a coding that nobody knows", ["Transfer-Encoding: xchunked"], () => "0\r\n\r\n"],
  ["a coding with a vertical tab", ["Transfer-Encoding: \x0bchunked"], () => "0\r\n\r\n"],
  ["a NUL in a header", ["X-A: a\0b", "Content-Length: 0"], () => ""],
  ["a carriage return in a header", ["X-A: a\rContent-Length: 5"], () => "hello"],
  ["a header without a name", [": 5", "Content-Length: 0"], () => ""],
  ["a header without a colon", ["Content-Length", "X-A: b"], () => ""],
];

describe("a request is refused with", () => {
  test.each(AMBIGUOUS)("%s, and nothing behind it is a request", async (_, lines, rest) => {
    const received = await attacked.raw(`${put(...lines)}${rest()}`, 200);
    const [status = 400, ...others] = statusesOf(received);
    expect([400, 403, 411, 501]).toContain(status);
    expect(others).toEqual([]);
    expect(await attacked.keys()).toEqual([]);
  });
});

describe("chunks of HTTP are refused with", () => {
  test.each<readonly [string, string]>([
    ["a length beyond all numbers", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"],
    ["a negative length", "-5\r\nhello\r\n0\r\n\r\n"],
    ["a length that is no number", "5x\r\nhello\r\n0\r\n\r\n"],
    ["no length", "\r\nhello\r\n0\r\n\r\n"],
    ["a bare line feed", "5\nhello\n0\n\n"],
    ["more than their length", "5\r\nhello!\r\n0\r\n\r\n"],
    ["a prefix of C", "0x5\r\nhello\r\n0\r\n\r\n"],
  ])("%s", async (_, body) => {
    const received = await attacked.raw(
      `${put("Transfer-Encoding: chunked")}${body}${hidden()}x`,
      200,
    );
    const [status = 400, ...others] = statusesOf(received);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(others).toEqual([]);
    expect(await attacked.keys()).toEqual([]);
  });
});

test("the same request with one length is accepted", async () => {
  const received = await attacked.raw(`${put("Content-Length: 5", "Connection: close")}hello`);
  expect(statusesOf(received)).toEqual([200]);
  expect((await attacked.requests.send("DELETE", `/${BUCKET}/front`)).status).toBe(204);
});

test("a body that is refused is not read as the next request", async () => {
  const body = `${hidden()}x`;
  const wrong = attacked
    .head({ method: "PUT", target: `/${BUCKET}/front` }, `content-length: ${body.length}`)
    .replace(/Signature=\w/u, "Signature=z");
  expect(statusesOf(await attacked.raw(`${wrong}${body}`, 300))).toHaveLength(1);
  expect(await attacked.keys()).toEqual([]);
});

test("what is pipelined is answered in order", async () => {
  const head = attacked.head({ method: "HEAD", target: `/${BUCKET}` });
  const last = attacked.head({ method: "HEAD", target: `/${BUCKET}/none` }, "connection: close");
  const received = await attacked.raw(`${head.repeat(8)}${last}`);
  expect(statusesOf(received)).toEqual([...Array.from({ length: 8 }, () => 200), 404]);
});

test("a connection with thousands of pipelined requests delays nobody", async () => {
  const head = attacked.head({ method: "GET", target: `/${BUCKET}?list-type=2` });
  const flood = attacked.raw(head.repeat(5000));
  const start = performance.now();
  expect((await attacked.requests.send("HEAD", `/${BUCKET}`)).status).toBe(200);
  expect(performance.now() - start).toBeLessThan(SLOW ? 2000 : CLIENT_MAX);
  await flood;
});

describe("is no request of S3:", () => {
  test.each<readonly [string, () => string]>([
    ["no HTTP", () => "hello\r\n\r\n"],
    ["HTTP/0.9", () => "GET /\r\n"],
    ["the preface of HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["TLS", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    [
      "a proxy's request",
      () => `GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: ${attacked.host}\r\n\r\n`,
    ],
    ["CONNECT", () => `CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: ${attacked.host}\r\n\r\n`],
    [
      "an upgrade",
      () =>
        `GET /${BUCKET} HTTP/1.1\r\nHost: ${attacked.host}\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n`,
    ],
    ["no Host", () => `GET /${BUCKET} HTTP/1.1\r\n\r\n`],
    ["two hosts", () => `GET /${BUCKET} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`],
    ["a target with a blank", () => `GET /a b HTTP/1.1\r\nHost: ${attacked.host}\r\n\r\n`],
    [
      "headers beyond all measure",
      () => `GET / HTTP/1.1\r\nHost: h\r\nX-A: ${"x".repeat(70_000)}\r\n\r\n`,
    ],
    ["ten thousand headers", () => `GET / HTTP/1.1\r\nHost: h\r\n${"a: b\r\n".repeat(10_000)}\r\n`],
  ])("%s", async (_, text) => {
    const received = await attacked.raw(text());
    const statuses = statusesOf(received);
    expect(statuses.length).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status < 400)).toEqual([]);
    expect(received).not.toContain("ListAllMyBuckets");
  });
});

test("nothing of this was a fault of the gateway, and it still serves", async () => {
  expect((await attacked.requests.send("PUT", KEY, { body: "x" })).status).toBe(200);
  const log = await attacked.stop();
  expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
});
