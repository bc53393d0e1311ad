import { afterEach, expect, test } from "bun:test";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import {
  type Bucket,
  minioServer,
  newBucket,
  REGION,
} from "../../../../../tests/servers/s3-servers.ts";
import { type BucketLocation, initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";

const ORIGIN = "https://example.com";

/** A server that has no CORS rules for buckets, and answers no page, or all. */
function minioLike(allowed: string | undefined) {
  const headers = allowed === undefined ? {} : { "access-control-allow-origin": allowed };
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      const { search } = new URL(request.url);
      if (request.headers.has("origin")) return new Response("", { status: 403, headers });
      if (!search.includes("cors")) return new Response("", { headers });
      const isGet = request.method === "GET";
      const code = isGet ? "NoSuchCORSConfiguration" : "NotImplemented";
      return new Response(`<Error><Code>${code}</Code></Error>`, { status: isGet ? 404 : 501 });
    },
  });
  return server;
}

const servers: { stop(force: boolean): unknown }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});

function locations(allowed: string | undefined): BucketLocation[] {
  const server = minioLike(allowed);
  servers.push(server);
  const endpoint = server.url.origin;
  const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
  return [
    { provider: "s3", bucket: "files", endpoint, region: REGION, credentials },
    { provider: "minio", bucket: "files", endpoint, accessKey: "key", secretKey: "secret" },
  ];
}

const retry = { budgetMs: 0, minAttempts: 1 };

test.each([ORIGIN, "*"])("a server that allows %s needs no rule", async (allowed) => {
  for (const location of locations(allowed)) {
    const report = await initBucket(location, { corsOrigin: ORIGIN }, { retry });
    expect([location.provider, report]).toEqual([
      location.provider,
      { made: [], there: ["bucket", "cors"] },
    ]);
  }
});

test.each([undefined, "https://other.example"])(
  "a server that allows %p, and has no rules for buckets, is refused with the remedy",
  async (allowed) => {
    for (const location of locations(allowed)) {
      const made = initBucket(location, { corsOrigin: ORIGIN }, { retry });
      expect(await made.catch((error: unknown) => error)).toMatchObject({
        code: "usage",
        message: expect.stringContaining(
          "on MinIO with MINIO_API_CORS_ALLOW_ORIGIN=https://example.com",
        ) as string,
      });
    }
  },
);

test.each([
  "example.com",
  "https://example.com/",
  "https://example.com/a",
  "file://x",
  "*",
  "null",
])("the origin %s is refused before a request", async (corsOrigin) => {
  const [location] = locations(undefined);
  const made = initBucket(location!, { corsOrigin }, { retry });
  expect(await made.catch((error: unknown) => error)).toMatchObject({
    code: "usage",
    message: expect.stringContaining("the origin of a page") as string,
  });
});

requireServer("minio")("MinIO", () => {
  test("answers pages of all origins by default", async () => {
    const bucket = await newBucket(minioServer());
    try {
      const report = await initBucket(over(bucket), { corsOrigin: ORIGIN });
      expect(report).toEqual({ made: [], there: ["bucket", "cors"] });
    } finally {
      await bucket.remove();
    }
  });
});

/** A server that keeps the rules of a bucket as they are sent. */
function serverWithRules() {
  let rules = "";
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (request.headers.get("authorization") === null) return new Response("", { status: 403 });
      if (!new URL(request.url).searchParams.has("cors")) return new Response("");
      if (request.method === "PUT") rules = await request.text();
      if (rules !== "") return new Response(request.method === "GET" ? rules : "");
      return new Response("<Error><Code>NoSuchCORSConfiguration</Code></Error>", { status: 404 });
    },
  });
  servers.push(server);
  return { endpoint: server.url.origin, rules: () => rules };
}

test.each(["s3", "b2"] as const)(
  "a rule is added beside those of the bucket (%s)",
  async (kind) => {
    const { endpoint, rules } = serverWithRules();
    const credentials = { accessKeyId: "key", secretAccessKey: "secret" };
    const location: BucketLocation =
      kind === "s3"
        ? { provider: "s3", bucket: "files", endpoint, region: REGION, credentials }
        : {
            provider: "b2",
            bucket: "files",
            endpoint,
            region: REGION,
            keyId: "k",
            applicationKey: "s",
          };
    const init = (corsOrigin: string) => initBucket(location, { corsOrigin }, { retry });
    expect(await init(ORIGIN)).toEqual({ made: ["cors"], there: ["bucket"] });
    expect(await init(ORIGIN)).toEqual({ made: [], there: ["bucket", "cors"] });
    expect(await init("https://b.example")).toEqual({ made: ["cors"], there: ["bucket"] });
    expect(rules().match(/<AllowedOrigin>[^<]*/gu)).toEqual([
      `<AllowedOrigin>${ORIGIN}`,
      "<AllowedOrigin>https://b.example",
    ]);
    expect(rules().match(/<AllowedMethod>[^<]*/gu)).toEqual([
      "<AllowedMethod>GET",
      "<AllowedMethod>GET",
    ]);
  },
);

function over({ name, server }: Bucket): BucketLocation {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const credentials = { accessKeyId, secretAccessKey };
  return { provider: "s3", bucket: name, endpoint, region: REGION, credentials };
}
