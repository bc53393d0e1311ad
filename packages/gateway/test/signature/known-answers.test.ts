import { type TestRequest, accept } from "./support.ts";
import { describe, expect, test } from "bun:test";
import answers from "../../testdata/aws-signatures.json" with { type: "json" };
import { errorOf } from "../support.ts";
import { parseAmzDate } from "../../src/signature/times.ts";
import { planBody } from "../../src/body/plan.ts";
import { readBody } from "../../src/body/read-body.ts";

interface SignedExample {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signedHeaders: string;
  readonly signature: string;
}

const now = parseAmzDate("20130524T000000Z")!;

function requestOf(example: SignedExample): TestRequest {
  const { signedHeaders, signature } = example;
  const authorization = `AWS4-HMAC-SHA256 Credential=${answers.credentials.accessKey}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${signedHeaders},Signature=${signature}`;
  const headers = Object.entries({ ...example.headers, Authorization: authorization });
  return { ...example, headers: headers.map(([name, value]) => [name, value ?? ""]) };
}

describe("the examples of Amazon's documentation", () => {
  test.each(answers.header.examples)("$name", (example) => {
    const accepted = accept(requestOf(example), { now, region: "us-east-1" });
    expect(accepted.accessKey).toBe(answers.credentials.accessKey);
    expect(accepted.mechanism).toBe("header");
    expect(accepted.payload.form).toBe("hash");
  });

  test("a presigned URL, until it expires", () => {
    const { method, target, host, expires } = answers.presigned;
    const request: TestRequest = { method, target, headers: [["Host", host]] };
    const accepted = accept(request, { now: now + 1000 * expires });
    expect(accepted.mechanism).toBe("presigned");
    expect(accepted.query).toEqual(new Map());
    expect(accepted.payload).toEqual({ form: "unsigned" });
    const expired = errorOf(() => accept(request, { now: now + 1000 * expires + 1 }));
    expect([expired.code, expired.message]).toEqual(["AccessDenied", "Request has expired"]);
  });

  test("a URL presigned by V2, until it expires", () => {
    const { method, target, host, hostBucket, expires } = answers.presignedV2;
    const request: TestRequest = { method, target, headers: [["Host", host]] };
    const accepted = accept(request, { now: 1000 * expires, hostBucket });
    expect(accepted.mechanism).toBe("presigned-v2");
    expect(accepted.query).toEqual(new Map());
    const expired = errorOf(() => accept(request, { now: 1000 * expires + 1, hostBucket }));
    expect(expired.code).toBe("AccessDenied");
    const other = errorOf(() => accept(request, { now: 0, hostBucket: "janesmith" }));
    expect(other.code).toBe("SignatureDoesNotMatch");
  });

  test("an upload in chunks", async () => {
    const { byte, chunks } = answers.chunks;
    const wire = chunks.map(({ length, signature }) => [
      `${length.toString(16)};chunk-signature=${signature}\r\n`,
      byte.repeat(length),
      "\r\n",
    ]);
    expect(await upload(answers.chunks, wire)).toBe(byte.repeat(66_560));
  });

  test("an upload in chunks with a trailer", async () => {
    const { byte, chunks, checksum, trailerSignature } = answers.trailer;
    const wire = chunks.map(({ length, signature }) => [
      `${length.toString(16)};chunk-signature=${signature}\r\n`,
      byte.repeat(length),
      length === 0 ? "" : "\r\n",
    ]);
    wire.push([checksum, "\r\n", `x-amz-trailer-signature:${trailerSignature}`, "\r\n\r\n"]);
    expect(await upload(answers.trailer, wire)).toBe(byte.repeat(66_560));
  });
});

async function upload(example: SignedExample, wire: readonly string[][]): Promise<string> {
  const body = Buffer.from(wire.flat().join(""));
  const length = example.headers["Content-Length"];
  if (length !== undefined) expect(body.length).toBe(Number(length));
  const headers = { ...example.headers, "Content-Length": String(body.length) };
  const accepted = accept(requestOf({ ...example, headers }), { now });
  const { bytes } = readBody(planBody(accepted, { maxLength: 2 ** 20 }), split(body));
  let content = "";
  for await (const piece of bytes) content += Buffer.from(piece).toString();
  return content;
}

async function* split(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += 1000) yield body.subarray(at, at + 1000);
}
