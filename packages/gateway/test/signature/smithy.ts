import { ACCESS_KEY, NOW, SECRET, type TestRequest } from "./support.ts";
import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";

/** SHA-256, or the HMAC with it if there is a key, as the AWS SDK for JavaScript takes it. */
class Sha256 {
  readonly #hash: { update(data: Uint8Array): unknown; digest(): Buffer };

  constructor(key?: Uint8Array) {
    this.#hash = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {}
}

const signer = new SignatureV4({
  service: "s3",
  region: "us-east-1",
  credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET },
  sha256: Sha256 as never,
  uriEscapePath: false,
});

/** What is to be signed. */
export interface Unsigned {
  readonly method: string;
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Signs as the AWS SDK for JavaScript does. */
export async function signBySmithy(unsigned: Unsigned): Promise<TestRequest> {
  const request = requestOf(unsigned);
  const { headers } = await signer.sign(request, { signingDate: new Date(NOW) });
  return testRequestOf(request, headers);
}

/** The same in a URL, which then has the headers `x-amz-…`, too. */
export async function presignBySmithy(unsigned: Unsigned): Promise<TestRequest> {
  const request = requestOf(unsigned);
  const options = { signingDate: new Date(NOW), expiresIn: 60 };
  const { query, headers } = await signer.presign(
    { ...request, headers: { ...request.headers, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } },
    { ...options, unhoistableHeaders: new Set(), unsignableHeaders: new Set() },
  );
  return testRequestOf({ ...request, query: query as Readonly<Record<string, string>> }, headers);
}

function requestOf({ method, key, query, headers }: Unsigned) {
  return {
    method,
    protocol: "http:",
    hostname: "127.0.0.1",
    path: `/b/${key.split("/").map(escape).join("/")}`,
    query,
    headers: { host: "127.0.0.1:9000", ...headers },
  };
}

function testRequestOf(
  { method, path, query }: ReturnType<typeof requestOf>,
  headers: Readonly<Record<string, string>>,
): TestRequest {
  const pairs = Object.entries(query).map(([name, value]) => `${escape(name)}=${escape(value)}`);
  const target = pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
  return { method, target, headers: Object.entries(headers) };
}

function escape(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
