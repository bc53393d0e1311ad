import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../../../../tests/servers/certificate.ts";
import { b2 } from "../../../src/backend/b2.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { minio } from "../../../src/backend/minio.ts";
import { s3 } from "../../../src/backend/s3.ts";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { rejects } from "../rejects.ts";
import { first, locationsAt, NAME, objectResponse } from "./fixtures.ts";

const MARKER = `${"0".repeat(32)}/${"0".repeat(16)}-${NAME}`;
const ONCE = { retry: { budgetMs: 0, minAttempts: 1 } };
const SECRETS = /access-key|secret-key|AWS4|Signature|\?|list-type/u;

const [accessKey, secretKey] = ["access-key", "secret-key"];
const common = { bucket: "bucket", region: "us-east-1" };
const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
const BACKENDS: Readonly<Record<string, (endpoint: string) => Backend>> = {
  s3: (endpoint) => s3({ ...common, endpoint, credentials }),
  minio: (endpoint) => minio({ ...common, endpoint, accessKey, secretKey }),
  b2: (endpoint) => b2({ ...common, endpoint, keyId: accessKey, applicationKey: secretKey }),
};

/** Every kind of request. */
function calls(backend: Backend): (() => Promise<unknown>)[] {
  return [
    () => backend.put(NAME, new Uint8Array(10)),
    () => backend.get(NAME, new Uint8Array(10)),
    () => backend.getRange!(NAME, 1, new Uint8Array(2)),
    () => backend.head(NAME),
    () => backend.delete(NAME),
    () => first(backend.list("")),
    () => backend.putMarker!(MARKER),
    () => first(backend.listMarkers!("")),
    () => backend.deleteMarker!(MARKER),
    () => backend.currentTime!(),
  ];
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Checks that every call fails with this text, and names nothing that is secret. */
async function failWith(backend: Backend, text: string, transient: boolean): Promise<void> {
  for (const call of calls(backend)) {
    const error = await rejects(call(), "unavailable", text);
    expect(error.transient).toBe(transient);
    expect(error.message).not.toMatch(SECRETS);
  }
}

describe.each(Object.entries(BACKENDS))("%s names the host and the port", (_, open) => {
  test("of a server that refuses the connection", async () => {
    const server = createServer();
    const address = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    await failWith(open(`http://${address}`), `: ${address} refused the connection`, true);
  });

  test("of a server that hangs up", async () => {
    const server = createServer((socket) => socket.once("data", () => socket.destroy()));
    const address = await listen(server);
    await failWith(open(`http://${address}`), `the connection to ${address} failed (`, true);
    server.close();
  });
});

test("a host name that cannot be resolved is named", async () => {
  const text = ": the host name of nowhere.invalid:443 cannot be resolved (ENOTFOUND)";
  await failWith(BACKENDS["s3"]!("https://nowhere.invalid"), text, true);
}, 120_000);

test("timeouts name the host and the port", async () => {
  const server = createServer((socket) => socket.on("error", () => undefined));
  const address = await listen(server);
  const timeouts = { firstByte: 50 };
  const backend = s3({ ...common, endpoint: `http://${address}`, credentials, timeouts });
  await failWith(backend, `: ${address} did not respond for 0.1 s`, true);
  server.close();
});

describe("a server of the other protocol", () => {
  let folder: string;
  let tls: { key: Buffer; cert: Buffer };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-protocol-"));
    await makeCertificate(folder);
    const read = async (name: string) => readFile(join(folder, name));
    tls = { key: await read("private.key"), cert: await read("public.crt") };
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** A TLS server that rejects plain HTTP with a response, as those written in Go and nginx do. */
  async function rejecting(secure: Server): Promise<{ address: string; server: Server }> {
    const { port } = secure.address() as AddressInfo;
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (bytes) => {
        if (bytes[0] !== 0x16) {
          const text = "Client sent an HTTP request to an HTTPS server.\n";
          socket.end(`HTTP/1.0 400 Bad Request\r\n\r\n${text}`);
          return;
        }
        const upstream = connect(port, "127.0.0.1", () => {
          upstream.write(bytes);
          socket.pipe(upstream).pipe(socket);
        });
        upstream.on("error", () => socket.destroy());
      });
    });
    return { address: await listen(server), server };
  }

  const REMEDIES: readonly [provider: string, plain: string, secure: string][] = [
    ["s3", "set endpoint=http://SERVER in the store URL", "set endpoint=https://SERVER in the"],
    ["minio", "set tls=0 in the store URL", "set tls=1 in the store URL"],
    ["b2", "check the endpoint: Backblaze B2", "check the endpoint: Backblaze B2"],
  ];

  test.each(REMEDIES)("%s names plain HTTP behind https://", async (provider, remedy) => {
    const node = createHttpServer((_request, response) => response.end());
    const bun = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => objectResponse() });
    for (const address of [await listen(node), `127.0.0.1:${bun.port}`]) {
      const text = `: ${address} uses HTTP, not HTTPS; ${remedy.replace("SERVER", address)}`;
      await failWith(BACKENDS[provider]!(`https://${address}`), text, false);
      for (const location of locationsAt(`https://${address}`)) {
        if (location.provider !== provider) continue;
        expect((await rejects(initBucket(location, {}, ONCE), "unavailable", text)).transient).toBe(
          false,
        );
      }
    }
    node.close();
    void bun.stop(true);
  });

  test.each(REMEDIES)("%s names HTTPS behind http://", async (provider, _, remedy) => {
    const node = createHttpsServer(tls, (_request, response) => response.end());
    const bun = Bun.serve({ port: 0, hostname: "127.0.0.1", tls, fetch: () => objectResponse() });
    const addresses = [await listen(node), `127.0.0.1:${bun.port}`];
    const go = await rejecting(node);
    for (const address of [...addresses, go.address]) {
      const text = `: ${address} uses HTTPS, not HTTP; ${remedy.replace("SERVER", address)}`;
      await failWith(BACKENDS[provider]!(`http://${address}`), text, false);
      for (const location of locationsAt(`http://${address}`)) {
        if (location.provider !== provider) continue;
        expect((await rejects(initBucket(location, {}, ONCE), "unavailable", text)).transient).toBe(
          false,
        );
      }
    }
    for (const server of [node, go.server]) server.close();
    void bun.stop(true);
  });

  test("is not suspected if the server uses neither", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    });
    const address = await listen(server);
    const text = `the TLS handshake with ${address} failed`;
    await failWith(BACKENDS["s3"]!(`https://${address}`), text, true);
    server.close();
  });

  test("is not looked for once the server has responded", async () => {
    const seen = { handshakes: 0, hangUp: false };
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        if (bytes[0] === 0x16) seen.handshakes += 1;
        if (seen.hangUp) socket.destroy();
        else socket.end('HTTP/1.1 200 OK\r\nETag: "0"\r\nContent-Length: 5\r\n\r\n');
      });
    });
    const address = await listen(server);
    const backend = BACKENDS["s3"]!(`http://${address}`);
    await backend.head(NAME);
    seen.hangUp = true;
    await rejects(backend.head(NAME), "unavailable", `the connection to ${address} failed`);
    expect(seen.handshakes).toBe(0);
    server.close();
  });
});
