import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBuilt } from "../built.ts";
import { makeCertificate } from "../servers/certificate.ts";

const root = join(import.meta.dir, "../..");
const script = join(import.meta.dir, "object-store-requests.mjs");
const ALL_OK = { put: "ok", get: "ok", list: "ok", sdk: "ok", minio: "ok" };

/** A proxy that records what it is asked for, and forwards it. */
async function startProxy() {
  const requests: string[] = [];
  const authorizations = new Set<string | undefined>();
  /** The ports that its tunnels come from. */
  const ports = new Set<number>();
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    requests.push(`${method} ${url}`);
    authorizations.add(headers["proxy-authorization"]);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    const forward = async (): Promise<void> => {
      const { "proxy-authorization": _, "proxy-connection": __, ...forwarded } = headers;
      const answer = await fetch(url, {
        method,
        headers: forwarded as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
        proxy: false,
      });
      const {
        connection: ___,
        "transfer-encoding": ____,
        ...kept
      } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, kept);
      response.end(new Uint8Array(await answer.arrayBuffer()));
    };
    request.on("end", () => void forward());
  });
  server.on("connect", (request, client) => {
    requests.push(`CONNECT ${request.url}`);
    authorizations.add(request.headers["proxy-authorization"]);
    const [host, port] = (request.url ?? "").split(":");
    const upstream = connect(Number(port), host, () => {
      ports.add(upstream.localPort!);
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client);
      client.pipe(upstream);
    });
    for (const socket of [upstream, client]) socket.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { requests, authorizations, ports, host: `127.0.0.1:${port}`, stop: () => server.close() };
}

/** A server with an S3 store's answers to the requests of the script. */
function startStore(folder?: string) {
  const ports: number[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(folder !== undefined && {
      tls: {
        key: Bun.file(join(folder, "private.key")),
        cert: Bun.file(join(folder, "public.crt")),
      },
    }),
    fetch(request) {
      const { method, url } = request;
      ports.push(server.requestIP(request)!.port);
      if (new URL(url).searchParams.has("list-type")) {
        return new Response("<a><IsTruncated>false</IsTruncated></a>");
      }
      return new Response(method === "GET" ? "content" : null, { headers: { etag: '"0"' } });
    },
  });
  return {
    endpoint: server.url.origin,
    /** The ports that its requests came from. */
    ports,
    stop: () => server.stop(true),
  };
}

const node = Bun.which("node");
const onNode = node === null && !process.env["CI"] ? describe.skip : describe;

describe("on Bun", () => proxyTests("bun"));
onNode("on Node", () => proxyTests("node"));

function proxyTests(runtime: "bun" | "node"): void {
  let folder: string;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let plain: ReturnType<typeof startStore>;
  let secure: ReturnType<typeof startStore>;

  beforeAll(async () => {
    if (runtime === "node") await ensureBuilt();
    folder = await mkdtemp(join(tmpdir(), "idk-proxy-"));
    await makeCertificate(folder);
    proxy = await startProxy();
    plain = startStore();
    secure = startStore(folder);
  }, 120_000);
  afterAll(async () => {
    proxy.stop();
    await Promise.all([plain.stop(), secure.stop()]);
    await rm(folder, { recursive: true });
  });

  /** Runs the script and returns its results and what the proxy was asked for meanwhile. */
  async function run(variables: Record<string, string>, ...endpoints: string[]) {
    proxy.requests.length = 0;
    proxy.authorizations.clear();
    secure.ports.length = 0;
    const clean = Object.entries(process.env).filter(([name]) => !/_proxy$/iu.test(name));
    const child = Bun.spawn([runtime, script, ...endpoints], {
      cwd: root,
      env: {
        ...Object.fromEntries(clean),
        NODE_EXTRA_CA_CERTS: join(folder, "public.crt"),
        AWS_EC2_METADATA_DISABLED: "true",
        ...variables,
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    // The SDK prints a warning on old Nodes.
    if ((await child.exited) !== 0) throw new Error(stderr);
    const results = JSON.parse(stdout) as Record<string, string>[];
    expect(results).toHaveLength(endpoints.length);
    return { results, requests: [...proxy.requests] };
  }

  test.each(["http_proxy", "HTTP_PROXY", "ALL_PROXY"])(
    "every request over HTTP goes through %s",
    async (name) => {
      const endpoint = plain.endpoint;
      const { results, requests } = await run({ [name]: `http://${proxy.host}` }, endpoint);
      expect(results).toEqual([ALL_OK]);
      // A PUT, a GET, a listing, and a HEAD from each client that sets up buckets.
      expect(requests.map((line) => line.replace(/\/?(?:\?.*)?$/u, ""))).toEqual([
        `PUT ${endpoint}/bucket/${"ab".repeat(32)}`,
        `GET ${endpoint}/bucket/${"ab".repeat(32)}`,
        `GET ${endpoint}/bucket`,
        `HEAD ${endpoint}/bucket`,
        `HEAD ${endpoint}/bucket`,
      ]);
    },
    60_000,
  );

  test.each(["https_proxy", "HTTPS_PROXY"])(
    "every request over HTTPS goes through a tunnel of %s",
    async (name) => {
      const endpoint = secure.endpoint;
      // Without a scheme, it is an HTTP proxy.
      const { results, requests } = await run({ [name]: proxy.host }, endpoint);
      expect(results).toEqual([ALL_OK]);
      // Requests share tunnels, and none comes by another way.
      expect(secure.ports).toHaveLength(5);
      expect(secure.ports.filter((port) => !proxy.ports.has(port))).toEqual([]);
      expect(new Set(requests)).toEqual(new Set([`CONNECT ${new URL(endpoint).host}`]));
    },
    60_000,
  );

  test("a proxy gets the credentials of its URL", async () => {
    const url = `http://user:pa%40ss@${proxy.host}`;
    const variables = { http_proxy: url, https_proxy: url };
    const { results, requests } = await run(variables, plain.endpoint, secure.endpoint);
    expect(results).toEqual([ALL_OK, ALL_OK]);
    expect(requests).toContain(`HEAD ${plain.endpoint}/bucket`);
    expect(requests).toContain(`CONNECT ${new URL(secure.endpoint).host}`);
    const expected = `Basic ${Buffer.from("user:pa@ss").toString("base64")}`;
    expect([...proxy.authorizations]).toEqual([expected]);
  }, 60_000);

  test.each([
    ["NO_PROXY", "127.0.0.1"],
    ["no_proxy", "example.com, 127.0.0.0/8"],
    ["NO_PROXY", "*"],
  ])(
    "no request goes through it with %s=%s",
    async (name, value) => {
      const variables = { HTTP_PROXY: proxy.host, HTTPS_PROXY: proxy.host, [name]: value };
      const { results, requests } = await run(variables, plain.endpoint, secure.endpoint);
      expect({ results, requests }).toEqual({ results: [ALL_OK, ALL_OK], requests: [] });
    },
    60_000,
  );

  test("a CGI program ignores HTTP_PROXY, which a request can set", async () => {
    const variables = { HTTP_PROXY: proxy.host, REQUEST_METHOD: "GET" };
    const { results, requests } = await run(variables, plain.endpoint);
    expect({ results, requests }).toEqual({ results: [ALL_OK], requests: [] });
  }, 60_000);

  test("an unreachable proxy is named, without its credentials", async () => {
    const url = "http://user:password@127.0.0.1:1";
    const variables = { http_proxy: url, https_proxy: url };
    const { results } = await run(variables, plain.endpoint, secure.endpoint);
    for (const text of results.flatMap((each) => Object.values(each))) {
      expect(text).toStartWith("unavailable: cannot ");
      expect(text).toContain("through the proxy 127.0.0.1:1 failed");
      expect(text).not.toContain("password");
    }
  }, 60_000);

  test("a proxy of an unknown kind is rejected, without its credentials", async () => {
    const { results } = await run({ ALL_PROXY: "socks5://user:pass@host:1" }, plain.endpoint);
    for (const text of results.flatMap((each) => Object.values(each))) {
      expect(text).toStartWith("usage: ALL_PROXY names a proxy that is not supported");
      expect(text).not.toContain("pass@");
    }
  }, 60_000);
}
