import { createHash, createHmac } from "node:crypto";

export interface Credentials {
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly service: "s3" | "sts";
  readonly body?: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const REGION = "us-east-1";

/**
 * A request signed with AWS Signature Version 4, so that tests can prepare and inspect a server
 * independently of the program's own client.
 */
export async function signedFetch(
  request: SignedRequest,
  { accessKey, secretKey }: Credentials,
): Promise<Response> {
  const { method, url, service, body = "" } = request;
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/gu, "");
  const day = time.slice(0, 8);
  const payload = sha256(body);
  const headers = new Map([
    ["host", url.host],
    ["x-amz-content-sha256", payload],
    ["x-amz-date", time],
    ...Object.entries(request.headers ?? {}),
  ]);
  const names = [...headers.keys()].toSorted();
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join("&");
  const canonical = [
    method,
    url.pathname,
    query,
    ...names.map((name) => `${name}:${headers.get(name)}`),
    "",
    names.join(";"),
    payload,
  ].join("\n");
  const scope = `${day}/${REGION}/${service}/aws4_request`;
  let key: Uint8Array | string = `AWS4${secretKey}`;
  for (const part of scope.split("/")) key = hmac(key, part);
  const signature = hmac(
    key,
    ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"),
  ).toString("hex");
  headers.set(
    "authorization",
    `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  );
  headers.delete("host");
  return fetch(url, {
    method,
    headers: Object.fromEntries(headers),
    ...(body.length > 0 && { body: body as BodyInit }),
  });
}

function sha256(data: Uint8Array | string): string {
  return createHash("sha256").update(data).digest("hex");
}

function hmac(key: Uint8Array | string, data: string): Buffer {
  return createHmac("sha256", key).update(data).digest();
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
