import { afterAll, beforeAll } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { request as httpRequest, type Agent } from "node:http";
import { createGateway, type Gateway } from "../../src/gateway.ts";
import type { GatewayOptions } from "../../src/serving/options.ts";
import { parseCredentials } from "../../src/credentials/credentials.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { openRig, type Rig } from "../objects/support.ts";

/** A gateway with the buckets `b`, which is too short a name to be a copy's source, and `main`, over HTTP. */
export interface Running extends AsyncDisposable {
  readonly rig: Rig;
  readonly gateway: Gateway;
  /** Lines of the access log. */
  readonly log: Record<string, unknown>[];
  /** Sends a signed request. */
  send(method: string, target: string, options?: SendOptions): Promise<Received>;
}

export interface SendOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | undefined;
  readonly agent?: Agent | undefined;
  /** By default `us-east-1`. */
  readonly region?: string | undefined;
  /** The access key, by default one that may do everything. */
  readonly as?: string | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The code of an error document. */
  readonly code: string | undefined;
}

export const KEY = "AKIATEST";
const secretOf = (id: string): string => `a secret of ${id}`;

/** A table of a credentials file, with what limits the key. */
export function keyTable(id: string, limits = ""): string {
  return `[keys.${id}]\nsecret = "${secretOf(id)}"\n${limits}\n`;
}

/** @param tables of other keys than the one that may do everything; see `keyTable` */
export async function startGateway(
  given: Partial<GatewayOptions> = {},
  rigOptions: Parameters<typeof openRig>[0] = {},
  tables = "",
): Promise<Running> {
  const rig = await openRig(rigOptions);
  await rig.objects.createBucket({ name: "main", owner: KEY, region: "us-east-1", time: 0 });
  const log: Record<string, unknown>[] = [];
  const credentials = parseCredentials(`${keyTable(KEY)}${tables}`);
  const gateway = await createGateway({
    catalog: rig.catalog,
    objects: rig.objects,
    credentials: () => credentials,
    listen: { host: "127.0.0.1", port: 0, maxConnections: 200 },
    checkStore: async () => {},
    metrics: createMetrics(),
    log: (line) => log.push(JSON.parse(line) as Record<string, unknown>),
    ...given,
  });
  return {
    rig,
    gateway,
    log,
    send: (method, target, options) => send(gateway.url, method, target, options),
    async [Symbol.asyncDispose]() {
      await gateway.close(0);
      await rig[Symbol.asyncDispose]();
    },
  };
}

async function send(
  url: string,
  method: string,
  target: string,
  { headers = {}, body, agent, region = "us-east-1", as = KEY }: SendOptions = {},
): Promise<Received> {
  const { hostname, port, host } = new URL(url);
  const signed = signedHeaders({ method, target, host, region, headers, as });
  const length = { "content-length": `${Buffer.byteLength(body ?? "")}` };
  const answer = Promise.withResolvers<Received>();
  const sending = httpRequest(
    {
      hostname,
      port,
      method,
      path: target,
      agent: agent ?? false,
      headers: { ...signed, ...(body !== undefined && length) },
    },
    (response) => {
      const pieces: Uint8Array[] = [];
      response.on("data", (piece: Uint8Array) => pieces.push(piece));
      response.on("error", answer.reject);
      response.on("end", () => {
        const text = Buffer.concat(pieces).toString();
        const [, code] = /<Code>(\w+)<\/Code>/u.exec(text) ?? [];
        answer.resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          code,
        });
      });
    },
  );
  sending.on("error", answer.reject);
  sending.end(body);
  return answer.promise;
}

/** Headers of a request that is signed by V4, with a body that is not. */
export function signedHeaders({
  method,
  target,
  host,
  region = "us-east-1",
  headers = {},
  as = KEY,
}: {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly region?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: string;
}): Record<string, string> {
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/gu, "");
  const all: Record<string, string> = {
    host,
    "x-amz-date": date,
    "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    ...headers,
  };
  const [path = "", query = ""] = target.split("?", 2);
  const names = Object.keys(all).toSorted();
  const pairs = query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => (pair.includes("=") ? pair : `${pair}=`))
    .toSorted();
  const canonical = [
    method,
    path,
    pairs.join("&"),
    ...names.map((name) => `${name}:${all[name]}`),
    "",
    names.join(";"),
    all["x-amz-content-sha256"],
  ].join("\n");
  const scope = `${date.slice(0, 8)}/${region}/s3/aws4_request`;
  const digest = createHash("sha256").update(canonical).digest("hex");
  const hmac = (key: string | Uint8Array, text: string): Buffer =>
    createHmac("sha256", key).update(text).digest();
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${secretOf(as)}`);
  const signature = hmac(key, ["AWS4-HMAC-SHA256", date, scope, digest].join("\n")).toString("hex");
  return {
    ...all,
    authorization: `AWS4-HMAC-SHA256 Credential=${as}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  };
}

/** The texts of all elements of a name, in order. */
export function elementsOf(text: string, name: string): readonly string[] {
  return [...text.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "gu"))].map(
    ([, content = ""]) => content,
  );
}

/** The text of an element. */
export function elementOf(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]*)</${name}>`, "u").exec(text)?.[1];
}

/** A gateway for all tests of a file. */
export function sharedGateway(...given: Parameters<typeof startGateway>): () => Running {
  let running: Running | undefined;
  beforeAll(async () => {
    running = await startGateway(...given);
  });
  afterAll(async () => running?.[Symbol.asyncDispose]());
  return () => running!;
}

/** A key or prefix in a target: all but what a URI leaves unreserved is percent-encoded. */
export function encoded(key: string, slash = "%2F"): string {
  return encodeURIComponent(key)
    .replaceAll(/[!'()*]/gu, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", slash);
}

/** The path of an object in the bucket `main`. */
export function pathOf(key: string): string {
  return `/main/${encoded(key, "/")}`;
}
