import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { crc32 } from "node:zlib";
import { sha256, sign } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET, statusesOf } from "./attacked.ts";

setDefaultTimeout(120_000);

const KEY = `/${BUCKET}/chunked`;
const SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
const SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
const UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
const FORMS = [SIGNED, SIGNED_TRAILER, UNSIGNED_TRAILER];
const SIZE = 10_000;
/** Three chunks; the last one is short. */
const CONTENT = Buffer.from(Array.from({ length: 2 * SIZE + 100 }, (_, index) => index % 251));

let attacked: Attacked;
beforeAll(async () => {
  attacked = await attackedGateway();
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** A body of chunks, in pieces that can be changed. */
interface Chunked {
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: { line: string; data: Buffer }[];
  readonly trailer: string[];
}

function checksumOf(content: Uint8Array): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(content));
  return sum.toString("base64");
}

function chunked(form: string, target = KEY): Chunked {
  const hasTrailer = form !== SIGNED;
  const { headers, signature, signNext } = sign(attacked.requests.keys, {
    method: "PUT",
    target,
    host: attacked.host,
    payload: form,
    headers: {
      "x-amz-decoded-content-length": `${CONTENT.length}`,
      ...(hasTrailer && { "x-amz-trailer": "x-amz-checksum-crc32" }),
    },
  });
  let previous = signature;
  const chunks: Chunked["chunks"] = [];
  for (let at = 0; at <= CONTENT.length; at += SIZE) {
    const data = CONTENT.subarray(at, at + SIZE);
    chunks.push({ line: data.length.toString(16), data });
  }
  chunks.push({ line: "0", data: Buffer.alloc(0) });
  if (form !== UNSIGNED_TRAILER) {
    for (const chunk of chunks) {
      previous = signNext("PAYLOAD", previous, sha256(""), sha256(chunk.data));
      chunk.line += `;chunk-signature=${previous}`;
    }
  }
  const value = `x-amz-checksum-crc32:${checksumOf(CONTENT)}`;
  const trailer = hasTrailer ? [value] : [];
  if (form === SIGNED_TRAILER) {
    trailer.push(`x-amz-trailer-signature:${signNext("TRAILER", previous, sha256(`${value}\n`))}`);
  }
  return { headers, chunks, trailer };
}

function wireOf({ chunks, trailer }: Chunked): Buffer {
  const parts = chunks.flatMap(({ line, data }) =>
    data.length === 0 ? [`${line}\r\n`] : [`${line}\r\n`, data, "\r\n"],
  );
  const all = [...parts, ...trailer.map((line) => `${line}\r\n`), "\r\n"];
  return Buffer.concat(all.map((part) => Buffer.from(part as string)));
}

async function put(body: Chunked, wire = wireOf(body), length = wire.length): Promise<string> {
  const lines = Object.entries(body.headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`PUT ${KEY} HTTP/1.1`, ...lines, `content-length: ${length}`, "connection: close"];
  return attacked.raw(`${head.join("\r\n")}\r\n\r\n`, wire);
}

const flip = (text: string, at: number): string => {
  const index = at < 0 ? text.length + at : at;
  return `${text.slice(0, index)}${text[index] === "0" ? "1" : "0"}${text.slice(index + 1)}`;
};

/** What is wrong, and with which forms it can be. */
const FAULTS: readonly (readonly [string, readonly string[], (body: Chunked) => Chunked])[] = [
  [
    "one byte changed",
    FORMS,
    (body) => {
      const [first, ...others] = body.chunks;
      const data = Buffer.from(first!.data);
      data[17]! ^= 1;
      return { ...body, chunks: [{ ...first!, data }, ...others] };
    },
  ],
  [
    "two chunks exchanged",
    FORMS,
    (body) => {
      const [first, second, ...others] = body.chunks;
      return { ...body, chunks: [second!, first!, ...others] };
    },
  ],
  [
    "a chunk twice",
    FORMS,
    (body) => ({ ...body, chunks: [body.chunks[0]!, body.chunks[0]!, ...body.chunks.slice(2)] }),
  ],
  [
    "a chunk left out",
    FORMS,
    (body) => ({ ...body, chunks: [body.chunks[0]!, ...body.chunks.slice(2)] }),
  ],
  [
    "the chunks of another request",
    [SIGNED, SIGNED_TRAILER],
    (body) => {
      const form = body.trailer.length === 0 ? SIGNED : SIGNED_TRAILER;
      const other = chunked(form, `${KEY}-other`);
      return { ...body, chunks: other.chunks, trailer: other.trailer };
    },
  ],
  [
    "a chunk's signature changed",
    [SIGNED, SIGNED_TRAILER],
    (body) => {
      const chunks = body.chunks.map((chunk) => ({ ...chunk }));
      chunks[1]!.line = flip(chunks[1]!.line, -1);
      return { ...body, chunks };
    },
  ],
  [
    "the last chunk's signature changed",
    [SIGNED, SIGNED_TRAILER],
    (body) => {
      const chunks = body.chunks.map((chunk) => ({ ...chunk }));
      chunks.at(-1)!.line = flip(chunks.at(-1)!.line, -1);
      return { ...body, chunks };
    },
  ],
  [
    "no signatures",
    [SIGNED, SIGNED_TRAILER],
    (body) => ({
      ...body,
      chunks: body.chunks.map(({ line, data }) => ({ line: line.split(";")[0]!, data })),
    }),
  ],
  ["no last chunk", FORMS, (body) => ({ ...body, chunks: body.chunks.slice(0, -1) })],
  [
    "the checksum of other content",
    [UNSIGNED_TRAILER],
    (body) => ({ ...body, trailer: [`x-amz-checksum-crc32:${checksumOf(Buffer.from("other"))}`] }),
  ],
  ["no trailer", [SIGNED_TRAILER, UNSIGNED_TRAILER], (body) => ({ ...body, trailer: [] })],
  [
    "a trailer that was not announced",
    [SIGNED_TRAILER, UNSIGNED_TRAILER],
    (body) => ({ ...body, trailer: ["x-amz-checksum-sha256:AAAA", ...body.trailer.slice(1)] }),
  ],
  [
    "a header in the trailer",
    [SIGNED_TRAILER, UNSIGNED_TRAILER],
    (body) => ({ ...body, trailer: ["x-amz-meta-a:b", ...body.trailer] }),
  ],
  [
    "a trailer's signature changed",
    [SIGNED_TRAILER],
    (body) => ({ ...body, trailer: [body.trailer[0]!, flip(body.trailer[1]!, -1)] }),
  ],
  [
    "a trailer where none can be",
    [SIGNED],
    (body) => ({ ...body, trailer: ["x-amz-checksum-crc32:AAAAAA=="] }),
  ],
  [
    "a chunk of a length beyond all numbers",
    FORMS,
    (body) => {
      const [first, ...others] = body.chunks;
      const line = first!.line.replace(/^[0-9a-f]+/u, "ffffffffffffffff");
      return { ...body, chunks: [{ ...first!, line }, ...others] };
    },
  ],
  [
    "an extension of a chunk",
    FORMS,
    (body) => {
      const [first, ...others] = body.chunks;
      return { ...body, chunks: [{ ...first!, line: `${first!.line};a=b` }, ...others] };
    },
  ],
];

test.each(FORMS)("%s without a fault is stored", async (form) => {
  expect(statusesOf(await put(chunked(form)))).toEqual([200]);
  const { body } = await attacked.requests.send("GET", KEY);
  expect(body.equals(CONTENT)).toBe(true);
  await attacked.requests.send("DELETE", KEY);
});

test.each(
  FAULTS.flatMap(([what, forms, change]) => forms.map((form) => [form, what, change] as const)),
)("%s with %s is refused, and nothing is stored", async (form, _, change) => {
  const [status, ...others] = statusesOf(await put(change(chunked(form))));
  expect([400, 403]).toContain(status!);
  expect(others).toEqual([]);
  expect(await attacked.keys()).toEqual([]);
});

test.each(FORMS)("%s that is cut off, or goes on, is not stored", async (form) => {
  const body = chunked(form);
  const wire = wireOf(body);
  for (const length of [10, SIZE, wire.length - 20, wire.length - 1]) {
    await put(body, wire.subarray(0, length), length);
    expect(await attacked.keys()).toEqual([]);
  }
  const more = Buffer.concat([wire, Buffer.from("more")]);
  const answer = await put(body, more);
  expect(statusesOf(answer)[0]).toBe(400);
  expect(await attacked.keys()).toEqual([]);
});

test("nothing of this was a fault of the gateway", async () => {
  const log = await attacked.stop();
  expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
});
