import { afterEach, expect, test } from "bun:test";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import {
  type Bucket,
  minioServer,
  newBucket,
  REGION,
} from "../../../../../tests/servers/s3-servers.ts";
import { errorResponse, xmlResponse } from "./fixtures.ts";
import { type BucketLocation, initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";

const ORIGIN = "https://example.com";

const credentials = { accessKeyId: "key", secretAccessKey: "secret" };

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

test("a server in AWS_ENDPOINT_URL that allows every page needs no rule", async () => {
  const server = minioLike("*");
  servers.push(server);
  const before = process.env["AWS_ENDPOINT_URL"];
  process.env["AWS_ENDPOINT_URL"] = server.url.origin;
  try {
    const location = { provider: "s3", bucket: "files", region: REGION, credentials } as const;
    const report = await initBucket(location, { corsOrigin: ORIGIN }, { retry });
    expect(report).toEqual({ made: [], there: ["bucket", "cors"] });
  } finally {
    if (before === undefined) delete process.env["AWS_ENDPOINT_URL"];
    else process.env["AWS_ENDPOINT_URL"] = before;
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

/** What the server answers to a GET of the rules instead. */
interface RuleServerOptions {
  readonly rules?: string;
  readonly get?: () => Response;
}

/** A server that keeps the rules of a bucket as they are sent. */
function serverWithRules({ rules = "", get }: RuleServerOptions = {}) {
  const state = { rules, puts: 0 };
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (request.headers.get("authorization") === null) return new Response("", { status: 403 });
      if (!new URL(request.url).searchParams.has("cors")) return new Response("");
      if (request.method === "PUT") {
        state.rules = await request.text();
        state.puts += 1;
        return new Response("");
      }
      if (get !== undefined) return get();
      if (state.rules !== "") return new Response(state.rules);
      return new Response("<Error><Code>NoSuchCORSConfiguration</Code></Error>", { status: 404 });
    },
  });
  servers.push(server);
  const endpoint = server.url.origin;
  const locations: Record<"s3" | "b2", BucketLocation> = {
    s3: { provider: "s3", bucket: "files", endpoint, region: REGION, credentials },
    b2: {
      provider: "b2",
      bucket: "files",
      endpoint,
      region: REGION,
      keyId: "k",
      applicationKey: "s",
    },
  };
  return { state, locations };
}

/** The texts of the elements of a rule, sorted. */
function rulesIn(document: string): string[][] {
  const rules = document.match(/<CORSRule>.*?<\/CORSRule>/gsu) ?? [];
  return rules.map((rule) => (rule.match(/<\w+>[^<]+/gu) ?? []).toSorted());
}

/** Rules of other pages: one with everything that a rule can have, one with as little as possible. */
const OTHERS =
  "<CORSRule><ID>shop</ID><AllowedHeader>x-a</AllowedHeader><AllowedHeader>range</AllowedHeader>" +
  "<AllowedMethod>PUT</AllowedMethod><AllowedMethod>GET</AllowedMethod>" +
  "<AllowedOrigin>https://shop.example</AllowedOrigin>" +
  "<AllowedOrigin>https://*.shop.example</AllowedOrigin>" +
  "<ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>600</MaxAgeSeconds></CORSRule>" +
  "<CORSRule><AllowedMethod>HEAD</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>";

test.each(["s3", "b2"] as const)(
  "a rule is added beside those of the bucket (%s)",
  async (kind) => {
    const rules = `<?xml version="1.0"?>\n<CORSConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${OTHERS}</CORSConfiguration>`;
    const { state, locations } = serverWithRules({ rules });
    const init = (corsOrigin: string) => initBucket(locations[kind], { corsOrigin }, { retry });
    expect(await init(ORIGIN)).toEqual({ made: ["cors"], there: ["bucket"] });
    expect(await init(ORIGIN)).toEqual({ made: [], there: ["bucket", "cors"] });
    expect(await init("https://b.example")).toEqual({ made: ["cors"], there: ["bucket"] });
    const own = (origin: string): string[] => [
      "<AllowedMethod>GET",
      `<AllowedOrigin>${origin}`,
      expect.stringMatching(/^<ID>idk-read-from-[0-9a-f]{16}$/u) as string,
    ];
    expect(rulesIn(state.rules)).toEqual([
      ...rulesIn(OTHERS),
      own(ORIGIN),
      own("https://b.example"),
    ]);
  },
);

test.each(["s3", "b2"] as const)("the first rule of a bucket is made (%s)", async (kind) => {
  const { state, locations } = serverWithRules();
  const report = await initBucket(locations[kind], { corsOrigin: ORIGIN }, { retry });
  expect(report).toEqual({ made: ["cors"], there: ["bucket"] });
  expect(rulesIn(state.rules)).toHaveLength(1);
});

test.each<[what: string, get: () => Response, code: string, message: string]>([
  ["405", () => errorResponse(405, "MethodNotAllowed"), "usage", "no CORS rules"],
  ["501", () => errorResponse(501, "NotImplemented"), "usage", "no CORS rules"],
  ["403", () => errorResponse(403, "AccessDenied"), "permission", "the credentials do not allow"],
  ["nothing", () => new Response(""), "unavailable", "not a valid GetBucketCors result"],
  ["a page", () => new Response("<html></html>"), "unavailable", "not a valid GetBucketCors"],
  ["a listing", () => xmlResponse(""), "unavailable", "not a valid GetBucketCors result"],
])("rules that cannot be read (%s) are not replaced", async (_, get, code, message) => {
  const { state, locations } = serverWithRules({ get });
  for (const location of Object.values(locations)) {
    const made = initBucket(location, { corsOrigin: ORIGIN }, { retry });
    expect(await made.catch((error: unknown) => error)).toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
  }
  expect(state.puts).toBe(0);
});

test("a configuration without rules gets the first one", async () => {
  const { state, locations } = serverWithRules({ rules: "<CORSConfiguration/>" });
  await initBucket(locations.s3, { corsOrigin: ORIGIN }, { retry });
  expect(rulesIn(state.rules)).toHaveLength(1);
});

function over({ name, server }: Bucket): BucketLocation {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const credentials = { accessKeyId, secretAccessKey };
  return { provider: "s3", bucket: name, endpoint, region: REGION, credentials };
}
