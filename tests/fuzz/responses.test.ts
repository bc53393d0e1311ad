import { StorageError } from "../../packages/storage/src/index.ts";
import { isBlobName } from "../../packages/storage/src/backend/backend.ts";
import { served } from "../../packages/storage/test/backend/s3/fixtures.ts";
import { afterAll } from "bun:test";
import { type Draw, HOSTILE, mutatedText } from "./draw.ts";
import { fuzz, outcomes } from "./fuzz.ts";

/*
 * Whatever a server returns for a listing, for the versions of a blob and as an error, a call ends in
 * what the response contains or in an error of the closed set that is safe to print.
 */

const CODES: ReadonlySet<string> = new Set(["not-found", "permission", "unavailable"]);
/** Of which 500 are text of the server. */
const MESSAGE_MAX = 1000;
const PAGES_MAX = 4;

const ended = outcomes("responses", {
  listed: 0.05,
  deleted: 0.02,
  unavailable: 0.1,
  permission: 0.005,
});

const WORDS = [
  ..."< > & &amp; &lt; &#x2e; &#0; &#xd800; &#1114112; &bogus; <![CDATA[ ]]> <!-- --> <? ?>".split(
    " ",
  ),
  '<!DOCTYPE a [<!ENTITY b "c">]>',
  "<Contents>",
  "</Contents>",
  "<Key>",
  "</Key>",
  "<IsTruncated>true</IsTruncated>",
  "<IsTruncated>false</IsTruncated>",
  "<NextContinuationToken>",
  "<Size>9007199254740993</Size>",
  "<Size>-1</Size>",
  "<__proto__>",
  "<constructor>",
  "<hasOwnProperty/>",
  "<Code>constructor</Code>",
  "<Code>__proto__</Code>",
  "<a>".repeat(3000),
  ...HOSTILE,
];

/** The response to the next requests, and how many there have been. */
let answer: () => Response;
let pages = 0;
const server = served(() => answer(), { prefix: "store" });
afterAll(() => server[Symbol.dispose]());

fuzz("responses", async (draw) => {
  const names = Array.from({ length: draw.upTo(3) }, () =>
    Buffer.from(draw.bytes(32)).toString("hex"),
  );
  const asked = names[0] ?? "ab".repeat(32);
  const operation = draw.pick(["list", "list", "delete", "get"] as const);
  // With text that is changed anywhere, any name may be in it.
  const anywhere = draw.oneIn(2);
  pages = 0;
  answer = () => {
    pages += 1;
    if (operation === "get" || draw.oneIn(8)) return errorResponse(draw);
    const more = pages < PAGES_MAX && draw.oneIn(3);
    const xml = operation === "list" ? listing(draw, names, more) : versions(draw, asked, more);
    return response(draw, 200, anywhere ? mutatedText(draw, xml, WORDS) : xml);
  };
  try {
    if (operation === "list") {
      const found: string[] = [];
      for await (const { name, size, storedAt } of server.backend.list("")) {
        if (!isBlobName(name)) throw new Error(`listed ${JSON.stringify(name)}`);
        if (!anywhere && !names.includes(name))
          throw new Error(`listed ${name}, which is not there`);
        if (!Number.isSafeInteger(size) || size < 0) throw new Error(`size ${size}`);
        if (Number.isNaN(storedAt)) throw new Error("time NaN");
        found.push(name);
      }
      ended(found.length > 0 ? "listed" : "nothing listed");
    } else if (operation === "delete") {
      await server.backend.delete(asked);
      ended("deleted");
    } else {
      await server.backend.get(asked, new Uint8Array(1000));
      ended("got");
    }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const tooLong = operation === "get" && error.code === "limit";
    if (!tooLong && !CODES.has(error.code)) throw error;
    if (error.message.length > MESSAGE_MAX) throw error;
    if (/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(error.message)) throw error;
    if (error.message.includes("secret-key"))
      throw new Error("the message contains the secret key", { cause: error });
    ended(error.code);
  }
  if (pages > 2 * PAGES_MAX + 8) throw new Error(`${pages} requests`);
});

function listing(draw: Draw, names: readonly string[], more: boolean): string {
  const entries = names.map((name) => {
    const key = draw.oneIn(5)
      ? draw.pick(["store/", "", "other/", "store/x/"]) + name
      : `store/${name}`;
    const size = draw.oneIn(6) ? draw.pick(["", "-1", "1e3", "99999999999999999999", "NaN"]) : "5";
    const time = draw.oneIn(6) ? draw.pick(["", "now", "+275761-01-01"]) : "2026-01-01T00:00:00Z";
    const fields = [
      `<Key>${key}</Key>`,
      `<Size>${size}</Size>`,
      `<LastModified>${time}</LastModified>`,
    ];
    return `<Contents>${fields.slice(draw.oneIn(8) ? 1 : 0).join("")}</Contents>`;
  });
  const token = draw.oneIn(6) ? "" : `<NextContinuationToken>t${pages}</NextContinuationToken>`;
  return page(draw, "ListBucketResult", entries, more, more ? token : "");
}

function versions(draw: Draw, name: string, more: boolean): string {
  const entries = Array.from({ length: draw.upTo(3) }, (_, i) => {
    const tag = draw.pick(["Version", "Version", "DeleteMarker"]);
    const key = draw.oneIn(6) ? "store/other" : `store/${name}`;
    const id = draw.oneIn(6) ? draw.pick(["", "null", "%2e", "a b", "?x=1"]) : `v${i}`;
    return `<${tag}><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${i === 0}</IsLatest></${tag}>`;
  });
  const marker = `<NextKeyMarker>store/${name}</NextKeyMarker><NextVersionIdMarker>m${pages}</NextVersionIdMarker>`;
  return page(draw, "ListVersionsResult", entries, more, more && !draw.oneIn(6) ? marker : "");
}

function page(
  draw: Draw,
  root: string,
  entries: readonly string[],
  more: boolean,
  next: string,
): string {
  const truncated = draw.oneIn(10) ? "" : `<IsTruncated>${more}</IsTruncated>`;
  return `<?xml version="1.0"?><${root}>${draw.shuffled([truncated, next, ...entries]).join("")}</${root}>`;
}

function errorResponse(draw: Draw): Response {
  const known = ["NoSuchKey", "AccessDenied", "SlowDown", "InternalError", "NoSuchBucket", ""];
  const code = draw.pick([...known, ...known, "constructor", "__proto__", draw.pick(HOSTILE)]);
  const message = draw.pick(["", "no", draw.pick(HOSTILE), "x".repeat(20_000)]);
  const xml = `<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  const status = draw.pick([200, 301, 307, 400, 403, 404, 404, 409, 412, 416, 429, 500, 501, 503]);
  return response(draw, status, draw.oneIn(3) ? mutatedText(draw, xml, WORDS) : xml);
}

function response(draw: Draw, status: number, body: string): Response {
  const headers: Record<string, string> = {};
  if (draw.oneIn(6)) {
    const name = draw.pick(["x-amz-delete-marker", "date", "retry-after", "etag", "content-type"]);
    headers[name] = draw.pick([
      "true",
      "",
      "-1",
      "99999999999",
      "Thu, 99 Foo 2026",
      '"',
      "a".repeat(4000),
    ]);
  } else if (status === 200) headers["x-amz-delete-marker"] = "true";
  return new Response(body, { status, headers });
}
