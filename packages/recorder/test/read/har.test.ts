import { expect, test } from "bun:test";
import { Ajv } from "ajv";
import draft06 from "ajv/dist/refs/json-schema-draft-06.json" with { type: "json" };
import { fullFormats } from "ajv-formats/dist/formats.js";
import fc from "fast-check";
import schemas from "har-schema";
import type { Exchange, RecordedBody } from "../../src/record/exchange.ts";
import { harText } from "../../src/read/index.ts";
import { exchange } from "./support.ts";

const validate = (() => {
  // The schema has keywords of its own, such as `optional`.
  const ajv = new Ajv({ strict: false, allErrors: true, formats: fullFormats });
  ajv.addMetaSchema(draft06);
  for (const schema of Object.values(schemas)) ajv.addSchema(schema);
  return ajv.getSchema("har.json")!;
})();

interface Har {
  readonly log: { readonly entries: readonly unknown[] };
}

/** The document of exchanges, which is checked against the schema. */
async function har(...exchanges: readonly Exchange[]): Promise<Har> {
  const pieces = await Array.fromAsync(
    harText(
      (async function* () {
        yield* exchanges;
      })(),
      "1.2.3",
    ),
  );
  const document = JSON.parse(pieces.join("")) as Har;
  expect([validate(document), validate.errors]).toEqual([true, null]);
  return document;
}

test("the schema refuses what is not HAR", () => {
  expect(validate({ log: { version: "1.2", creator: { name: "a", version: "1" } } })).toBe(false);
  expect(
    validate({ log: { version: "1.2", creator: { name: "a", version: "1" }, entries: [{}] } }),
  ).toBe(false);
});

test("an archive without exchanges is a document without entries", async () => {
  expect(await har()).toEqual({
    log: { version: "1.2", creator: { name: "idk recorder", version: "1.2.3" }, entries: [] },
  } as unknown as Har);
});

test("an exchange is an entry, with what is derived from it", async () => {
  const given = exchange(1, 5, {
    route: "/login",
    request: {
      method: "POST",
      url: "/login?next=%2Fa&next=b",
      http: "1.1",
      headers: [
        ["Host", "a.example:8080"],
        ["Cookie", "a=***; b=1"],
        ["X-Forwarded-Proto", "https"],
      ],
      body: {
        size: 14,
        type: "application/x-www-form-urlencoded",
        text: "user=me&pass=***",
      },
    },
    response: {
      status: 302,
      reason: "Found",
      headers: [
        ["Location", "/a"],
        ["Set-Cookie", "sid=***; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly"],
      ],
      body: { size: 3, type: "image/png", base64: "AP8B" },
    },
  });
  const { log } = await har(given, exchange(2, 6));
  expect(log.entries).toHaveLength(2);
  expect(log.entries[0]).toEqual({
    startedDateTime: "2026-11-20T00:00:00.005Z",
    time: 1.5,
    request: {
      method: "POST",
      url: "https://a.example:8080/login?next=%2Fa&next=b",
      httpVersion: "HTTP/1.1",
      cookies: [
        { name: "a", value: "***" },
        { name: "b", value: "1" },
      ],
      headers: given.request.headers.map(([name, value]) => ({ name, value })),
      queryString: [
        { name: "next", value: "/a" },
        { name: "next", value: "b" },
      ],
      postData: {
        mimeType: "application/x-www-form-urlencoded",
        text: "user=me&pass=***",
        params: [
          { name: "user", value: "me" },
          { name: "pass", value: "***" },
        ],
      },
      headersSize: -1,
      bodySize: 14,
    },
    response: {
      status: 302,
      statusText: "Found",
      httpVersion: "HTTP/1.1",
      cookies: [
        {
          name: "sid",
          value: "***",
          path: "/",
          expires: "2026-10-21T07:28:00.000Z",
          httpOnly: true,
          secure: false,
        },
      ],
      headers: given.response!.headers.map(([name, value]) => ({ name, value })),
      content: { size: 3, mimeType: "image/png", text: "AP8B", encoding: "base64" },
      redirectURL: "/a",
      headersSize: -1,
      bodySize: 3,
    },
    cache: {},
    timings: { send: 0, wait: 1.5, receive: 0 },
    _id: given.id,
    _direction: "in",
    _route: "/login",
  });
});

test("what was not recorded is said", async () => {
  const { response: _, ...unanswered } = exchange(3, 7, { ended: "aborted" });
  const omitted: RecordedBody = { size: 9, type: "text/html", why: "type" };
  const cut: RecordedBody = { size: 9, type: "text/plain", text: "abc", cut: true };
  const { log } = await har(unanswered, {
    ...exchange(4, 8),
    request: { method: "PUT", url: "/", headers: [], body: omitted },
    response: { status: 200, headers: [], body: cut },
  });
  expect(log.entries[0]).toMatchObject({
    _ended: "aborted",
    response: { status: 0, bodySize: -1 },
  });
  expect(log.entries[1]).toMatchObject({
    request: { postData: { comment: "not recorded: type" } },
    response: { content: { text: "abc", comment: "only the beginning was recorded" } },
  });
});

test("any exchange is valid HAR", async () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }));
  const headers = fc.array(
    fc.tuple(
      fc.oneof(text, fc.constantFrom("host", "cookie", "set-cookie", "x-forwarded-proto")),
      fc.oneof(text, fc.constantFrom("a=1; Expires=never", "[::1]:80", "x y", "https")),
    ),
    { maxLength: 4 },
  );
  const body = fc.option(
    fc.record(
      { size: fc.nat(), type: text, text, cut: fc.constant(true as const) },
      { requiredKeys: ["size"] },
    ),
    { nil: undefined },
  );
  const urls = fc.oneof(
    text,
    text.map((path) => `/${path}`),
    text.map((rest) => `https://a.example/${rest}`),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
  );
  const withBody = <T extends object>(message: fc.Arbitrary<T>) =>
    fc
      .tuple(message, body)
      .map(([rest, given]) => Object.assign({}, rest, given && { body: given }));
  const request = withBody(
    fc.record({ method: text, url: urls, http: fc.constantFrom("1.0", "2"), headers }),
  );
  const response = withBody(fc.record({ status: fc.nat(599), reason: text, headers }));
  const directions = fc.constantFrom("in" as const, "out" as const);
  await fc.assert(
    fc.asyncProperty(request, response, directions, async (asked, answer, direction) => {
      await har({ ...exchange(1, 1), direction, request: asked, response: answer });
    }),
    { numRuns: 500 },
  );
});
