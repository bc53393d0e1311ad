import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { request as httpRequest } from "node:http";
import { presign, sha256, sign, type Signed, type ToSign } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET } from "./attacked.ts";

setDefaultTimeout(60_000);

const MINUTE = 60_000;
const KEY = `/${BUCKET}/forged`;
let attacked: Attacked;

beforeAll(async () => {
  attacked = await attackedGateway();
  await attacked.requests.send("PUT", `/${BUCKET}/present`, { body: "content" });
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

type Headers = Readonly<Record<string, string>>;

/** Sends exactly these headers. @returns the status, and the code if there is one */
async function send(
  method: string,
  target: string,
  headers: Headers,
  body?: string,
): Promise<readonly [status: number, text: string]> {
  const { hostname, port } = new URL(attacked.gateway.endpoint);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const request = httpRequest(
      { hostname, port, method, path: target, headers: { ...headers, ...length }, agent: false },
      (response) => {
        let text = "";
        response.on("data", (piece: Uint8Array) => (text += Buffer.from(piece).toString()));
        response.on("end", () => {
          const [, code] = /<Code>(\w+)<\/Code>/u.exec(text) ?? [];
          resolve([response.statusCode!, code ?? text]);
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

const signedBy = (given: Partial<ToSign> = {}, keys = attacked.requests.keys): Signed =>
  sign(keys, { method: "PUT", target: KEY, host: attacked.host, ...given });

/** The headers with one of them replaced, or removed. */
function withHeader(headers: Headers, name: string, value: string | undefined): Headers {
  const { [name]: _, ...others } = headers;
  return value === undefined ? others : { ...others, [name]: value };
}

const inAuthorization = (headers: Headers, from: RegExp, to: string): Headers =>
  withHeader(headers, "authorization", headers["authorization"]!.replace(from, to));

/** What forgers send in place of a signed PUT of `forged`. */
const FORGERIES: readonly (readonly [string, () => readonly [string, string, Headers]])[] = [
  ["without a signature", () => ["PUT", KEY, { host: attacked.host }]],
  [
    "with another secret",
    () => {
      const keys = { ...attacked.requests.keys, secretAccessKey: "guessed" };
      return ["PUT", KEY, signedBy({}, keys).headers];
    },
  ],
  [
    "with the secret of nobody",
    () => {
      const keys = { accessKeyId: "AKIANOBODY", secretAccessKey: "" };
      return ["PUT", KEY, signedBy({}, keys).headers];
    },
  ],
  [
    "as __proto__",
    () => [
      "PUT",
      KEY,
      signedBy({}, { accessKeyId: "__proto__", secretAccessKey: "undefined" }).headers,
    ],
  ],
  [
    "with an empty signature",
    () => ["PUT", KEY, inAuthorization(signedBy().headers, /Signature=\w+/u, "Signature=")],
  ],
  [
    "with half a signature",
    () => ["PUT", KEY, inAuthorization(signedBy().headers, /(Signature=\w{32})\w+/u, "$1")],
  ],
  [
    "with a longer signature",
    () => ["PUT", KEY, inAuthorization(signedBy().headers, /(Signature=\w+)/u, "$100")],
  ],
  [
    "with one digit changed",
    () => {
      const { headers, signature } = signedBy();
      const digit = signature.endsWith("0") ? "1" : "0";
      return ["PUT", KEY, inAuthorization(headers, /\w$/u, digit)];
    },
  ],
  ["with the signature of a GET", () => ["PUT", KEY, signedBy({ method: "GET" }).headers]],
  [
    "with the signature of another key",
    () => ["PUT", KEY, signedBy({ target: `${KEY}2` }).headers],
  ],
  ["with a query that is not signed", () => ["PUT", `${KEY}?tagging`, signedBy().headers]],
  [
    "with the signature of another host",
    () => ["PUT", KEY, withHeader(signedBy({ host: "other:1" }).headers, "host", attacked.host)],
  ],
  [
    "with another date",
    () => ["PUT", KEY, withHeader(signedBy().headers, "x-amz-date", "20300101T000000Z")],
  ],
  ["an hour later", () => ["PUT", KEY, signedBy({ time: Date.now() - 60 * MINUTE }).headers]],
  ["an hour too early", () => ["PUT", KEY, signedBy({ time: Date.now() + 60 * MINUTE }).headers]],
  [
    "with a region that is not signed",
    () => ["PUT", KEY, inAuthorization(signedBy().headers, /us-east-1/u, "eu-west-1")],
  ],
  [
    "for another service",
    () => ["PUT", KEY, inAuthorization(signedBy().headers, /\/s3\//u, "/iam/")],
  ],
  [
    "with a header of S3 that is not signed",
    () => ["PUT", KEY, { ...signedBy().headers, "x-amz-meta-a": "b" }],
  ],
  [
    "with a copy's source that is not signed",
    () => ["PUT", KEY, { ...signedBy().headers, "x-amz-copy-source": `/${BUCKET}/present` }],
  ],
  [
    "without a header that is signed",
    () => [
      "PUT",
      KEY,
      withHeader(signedBy({ headers: { "x-amz-meta-a": "b" } }).headers, "x-amz-meta-a", undefined),
    ],
  ],
  [
    "with a header changed",
    () => [
      "PUT",
      KEY,
      withHeader(signedBy({ headers: { "x-amz-meta-a": "b" } }).headers, "x-amz-meta-a", "c"),
    ],
  ],
  [
    "without Host among the signed headers",
    () => [
      "PUT",
      KEY,
      inAuthorization(signedBy().headers, /SignedHeaders=host;/u, "SignedHeaders="),
    ],
  ],
  [
    "with another payload form",
    () => [
      "PUT",
      KEY,
      withHeader(
        signedBy({ payload: sha256("forged") }).headers,
        "x-amz-content-sha256",
        "UNSIGNED-PAYLOAD",
      ),
    ],
  ],
  [
    "with a session token",
    () => ["PUT", KEY, signedBy({ headers: { "x-amz-security-token": "token" } }).headers],
  ],
  [
    "with a signature of V2",
    () => [
      "PUT",
      KEY,
      {
        host: attacked.host,
        date: new Date().toUTCString(),
        authorization: `AWS ${attacked.requests.keys.accessKeyId}:AAAA`,
      },
    ],
  ],
  [
    "with a path that is resolved to the signed one",
    () => ["PUT", `/${BUCKET}/x/../forged`, signedBy().headers],
  ],
];

test.each(FORGERIES)("a write %s is refused, and nothing is stored", async (_, forge) => {
  const [status, code] = await send(...forge(), "forged");
  expect([400, 403]).toContain(status);
  expect(code).toMatch(/^\w+$/u);
  expect(code).not.toContain(attacked.requests.keys.secretAccessKey);
  expect(await attacked.keys()).toEqual(["present"]);
});

test("the same request without a fault is accepted", async () => {
  expect((await send("PUT", KEY, signedBy().headers, "forged"))[0]).toBe(200);
  expect((await send("DELETE", KEY, signedBy({ method: "DELETE" }).headers))[0]).toBe(204);
});

describe("a request that was recorded", () => {
  test("cannot be sent with another body, if that is signed", async () => {
    const { headers } = signedBy({ payload: sha256("what was signed") });
    expect((await send("PUT", KEY, headers, "something else!"))[1]).toBe(
      "XAmzContentSHA256Mismatch",
    );
    expect(await attacked.keys()).toEqual(["present"]);
  });

  test("cannot be sent again when 15 minutes are over", async () => {
    const { headers } = signedBy({ time: Date.now() - 16 * MINUTE });
    expect((await send("PUT", KEY, headers, "again"))[1]).toBe("RequestTimeTooSkewed");
  });

  test("cannot be made a request of another operation", async () => {
    const { headers } = signedBy();
    for (const [method, target] of [
      ["DELETE", KEY],
      ["GET", KEY],
      ["PUT", `/${BUCKET}`],
      ["PUT", `${KEY}?partNumber=1&uploadId=a`],
      ["POST", `${KEY}?uploads`],
      ["PUT", `${KEY}?acl`],
      ["PUT", `${KEY}?`.replace("?", "?a=")],
    ] as const) {
      expect([target, (await send(method, target, headers))[1]]).toEqual([
        target,
        "SignatureDoesNotMatch",
      ]);
    }
  });
});

describe("a presigned URL", () => {
  const url = (given: Partial<ToSign> = {}, expires = 60): string =>
    presign(
      attacked.requests.keys,
      { method: "GET", target: `/${BUCKET}/present`, host: attacked.host, ...given },
      expires,
    );
  const get = async (target: string, method = "GET"): Promise<readonly [number, string]> =>
    send(method, target, { host: attacked.host });

  test("works", async () => {
    expect(await get(url())).toEqual([200, "content"]);
  });

  test.each<readonly [string, (target: string) => string]>([
    ["another key", (target) => target.replace("present", "presenT")],
    ["a longer life", (target) => target.replace("Expires=60", "Expires=600")],
    ["another date", (target) => target.replace(/Date=\d{4}/u, "Date=2030")],
    ["another access key", (target) => target.replace("Credential=", "Credential=A")],
    ["no signed header", (target) => target.replace("SignedHeaders=host", "SignedHeaders=")],
    ["another algorithm", (target) => target.replace("HMAC-SHA256", "HMAC-SHA1")],
    ["an answer of another type", (target) => `${target}&response-content-type=text/html`],
    ["a subresource", (target) => target.replace("?", "?tagging=&")],
    ["a parameter twice", (target) => `${target}&X-Amz-Expires=600000`],
    ["the signature twice", (target) => `${target}&X-Amz-Signature=${"0".repeat(64)}`],
    ["no signature", (target) => target.replace(/&X-Amz-Signature=\w+/u, "")],
    ["an empty signature", (target) => target.replace(/(X-Amz-Signature=)\w+/u, "$1")],
    ["its parameters in another case", (target) => target.replaceAll("X-Amz", "x-amz")],
  ])("with %s is refused", async (_, change) => {
    const [status, code] = await get(change(url()));
    expect([400, 403]).toContain(status);
    expect(code).toMatch(/^\w+$/u);
  });

  test("is for its method alone", async () => {
    for (const method of ["PUT", "DELETE", "POST"]) {
      expect((await get(url(), method))[0]).toBe(403);
    }
    expect((await get(url({ method: "DELETE" })))[0]).toBe(403);
    expect(await attacked.keys()).toEqual(["present"]);
  });

  test("ends in time, and lasts a week at most", async () => {
    expect((await get(url({ time: Date.now() - 2 * MINUTE }, 60)))[0]).toBe(403);
    expect((await get(url({}, 7 * 24 * 3600 + 1)))[0]).toBe(400);
    expect((await get(url({}, -1)))[0]).toBe(400);
    expect((await get(url({ time: Date.now() + 60 * MINUTE })))[0]).toBe(403);
  });

  test("does not let headers of S3 be added", async () => {
    const target = url({ method: "PUT", target: KEY });
    const [status] = await send("PUT", target, { host: attacked.host, "x-amz-meta-a": "b" }, "x");
    expect(status).toBe(403);
    expect(await attacked.keys()).toEqual(["present"]);
  });
});

test("nothing of this was a fault of the gateway, and no log has a signature", async () => {
  const log = await attacked.stop();
  expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
  expect(JSON.stringify(log)).not.toMatch(/Signature=(?!REDACTED)[^&"]/u);
});
