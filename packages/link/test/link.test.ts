import { describe, expect, setSystemTime, test } from "bun:test";
import { loadNaCl } from "@idk/storage";
import { type CborItem, concat, encodeCborT, kdf, sealChild, sealRoot } from "@idk/storage/blobs";
import { memory } from "@idk/storage/memory";
import { filesystem } from "@idk/storage/filesystem";
import { LinkError } from "../src/errors.ts";
import { formatFragment, LINK_MAX, parseFragment } from "../src/fragment.ts";
import { identityOf, openList, sealList } from "../src/list.ts";
import { type Fetch, openLink } from "../src/open.ts";
import { content, fakeServer, type FakeServer, fragmentOf } from "./fixtures.ts";

const MiB = 2 ** 20;

const failure = async (work: Promise<unknown>): Promise<LinkError> => {
  const error: unknown = await work.then(
    () => "no error",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LinkError);
  return error as LinkError;
};

const read = async (stream: ReadableStream<Uint8Array>): Promise<Uint8Array> =>
  new Uint8Array(await new Response(stream).arrayBuffer());

/** A link to 3 MiB in twelve chunks. */
async function linkToTree(server: FakeServer) {
  const bytes = content(3 * MiB - 5);
  const address = await server.put(bytes, { chunkSize: 2 ** 18 });
  return { bytes, address, link: await server.link(address) };
}

describe("a link", () => {
  test("opens small content", async () => {
    const server = await fakeServer();
    const bytes = content(1000);
    const metadata = { name: "a\u202Egpj.exe", type: "image/png" };
    const { url, listAddress, expires } = await server.link(await server.put(bytes, { metadata }));
    expect(url).toStartWith("https://example.com/open/#1~files.s3.eu-central-1.amazonaws.com/idk/");
    const opened = await openLink(fragmentOf({ url }), { fetch: server.fetch });
    expect(opened).toMatchObject({ size: 1000, name: "a gpj.exe", type: "image/png", expires });
    expect(await opened.bytes(1000)).toEqual(bytes);
    expect(await read(opened.stream())).toEqual(bytes);
    // All of it is in the list.
    expect(server.requests.map(({ pathname }) => pathname)).toEqual([`/idk/blobs/${listAddress}`]);
  });

  test("opens a tree, and stores nothing but its list", async () => {
    const server = await fakeServer();
    const before = (await Array.fromAsync(server.backend.list(""))).length;
    const { bytes, link } = await linkToTree(server);
    const names = (await Array.fromAsync(server.backend.list(""))).map(({ name }) => name);
    // A root, twelve chunks and the list.
    expect(names).toHaveLength(before + 14);
    expect(names).toContain(link.listAddress);
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    expect(opened.size).toBe(bytes.length);
    expect(await read(opened.stream())).toEqual(bytes);
    expect(names).not.toContain(opened.address);
  });

  test("opens compressed content", async () => {
    const server = await fakeServer();
    const bytes = new Uint8Array(2 * MiB).fill(7);
    const link = await server.link(await server.put(bytes, { compression: "lz4" }));
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    expect(opened.size).toBe(bytes.length);
    expect(await read(opened.stream())).toEqual(bytes);
  });

  test("opens public addresses, without signatures", async () => {
    const server = await fakeServer();
    const bytes = content(2 * MiB);
    const address = await server.put(bytes, { chunkSize: 2 ** 18 });
    const publicBase = "https://blobs.example.com/idk/";
    const link = await server.link(address, { publicBase });
    expect(link.expires).toBeUndefined();
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    expect(opened.expires).toBeUndefined();
    expect(await opened.bytes(2 * MiB)).toEqual(bytes);
    expect(server.requests.every(({ href }) => href.startsWith(publicBase))).toBe(true);
    expect(server.requests.every(({ search }) => search === "")).toBe(true);
  });

  test("refuses more bytes than the caller takes, before it fetches any", async () => {
    const server = await fakeServer();
    const { link, bytes } = await linkToTree(server);
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    const count = server.requests.length;
    expect((await failure(opened.bytes(bytes.length - 1))).code).toBe("limit");
    expect(server.requests).toHaveLength(count);
  });

  test("asks one server only, without cookies, referrer or redirects", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const inits: RequestInit[] = [];
    const spying: Fetch = (url, init) => {
      inits.push(init);
      return server.fetch(url, init);
    };
    const opened = await openLink(fragmentOf(link), { fetch: spying });
    await read(opened.stream());
    const { place } = parseFragment(fragmentOf(link));
    expect(server.requests).toHaveLength(13);
    expect(server.requests.every(({ href }) => href.startsWith(place.base))).toBe(true);
    for (const init of inits) {
      expect(init).toMatchObject({
        credentials: "omit",
        redirect: "manual",
        referrerPolicy: "no-referrer",
      });
    }
  });

  test("leads to a store on this machine only if that is allowed", async () => {
    const server = await fakeServer({ endpoint: "http://127.0.0.1:9000" });
    const fragment = fragmentOf(await server.link(await server.put(new Uint8Array(9))));
    const { fetch, requests } = server;
    const error = await failure(openLink(fragment, { fetch, allowLoopback: false }));
    expect(error.code).toBe("malformed");
    expect(requests).toEqual([]);
    expect((await openLink(fragment, { fetch })).size).toBeGreaterThan(0);
  });

  test("ends with the caller's signal", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const controller = new AbortController();
    const { fetch } = server;
    const opened = await openLink(fragmentOf(link), { fetch, signal: controller.signal });
    const reader = opened.stream().getReader();
    await reader.read();
    controller.abort();
    const rest = (async () => {
      while (!(await reader.read()).done);
    })();
    expect((await failure(rest)).code).toBe("aborted");
  });
});

describe("a link that does not open", () => {
  test("with another key", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const fragment = parseFragment(fragmentOf(link));
    const secret = Uint8Array.from(fragment.secret);
    secret[0]! ^= 1;
    const text = formatFragment({ ...fragment, secret });
    expect((await failure(openLink(text, { fetch: server.fetch }))).code).toBe("key");
  });

  test("with a list that was replaced, even by one sealed with the same key", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const { secret } = parseFragment(fragmentOf(link));
    const naCl = await loadNaCl();
    const { recipient } = identityOf(secret);
    const { blob: root } = sealRoot(naCl, { content: content(10), recipients: [recipient] });
    const other = sealList(naCl, secret, { root, signatures: new Map() });
    // It opens by itself.
    const forged = { ...parseFragment(fragmentOf(link)), address: other.address };
    server.respond = () => new Response(other.blob as Uint8Array<ArrayBuffer>);
    expect((await openLink(formatFragment(forged), { fetch: server.fetch })).size).toBe(10);
    expect((await failure(openLink(fragmentOf(link), { fetch: server.fetch }))).code).toBe(
      "damaged",
    );
  });

  test("with a damaged chunk: nothing of it is released", async () => {
    const server = await fakeServer();
    const { bytes, link } = await linkToTree(server);
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    let chunk = 0;
    const damaged = new Set<string>();
    server.respond = (name) => {
      // Of the requests for chunks, those of the third one.
      if (++chunk === 3) damaged.add(name);
      return damaged.has(name) ? new Response(new Uint8Array(2 ** 18 + 59)) : undefined;
    };
    let received = 0;
    const reading = (async () => {
      for await (const part of opened.stream()) {
        expect(part).toEqual(bytes.subarray(received, received + part.length));
        received += part.length;
      }
    })();
    expect((await failure(reading)).code).toBe("damaged");
    expect(received).toBe(2 * 2 ** 18);
  });

  test("with endless bytes", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    let sent = 0;
    server.respond = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(new Uint8Array(MiB));
            sent += 1;
          },
        }),
      );
    expect((await failure(openLink(fragmentOf(link), { fetch: server.fetch }))).code).toBe(
      "damaged",
    );
    expect(sent).toBeLessThan(64);
  });

  test.each([
    ["removed", 404, "NoSuchKey"],
    ["expired", 403, "<Message>Request has expired</Message>"],
    ["expired", 400, "<Code>ExpiredToken</Code>"],
    ["refused", 403, "<Code>AccessDenied</Code>"],
    ["unreachable", 503, "SlowDown"],
  ])("%s: status %p of the list", async (code, status, body) => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    server.respond = () => new Response(body, { status });
    const error = await failure(openLink(fragmentOf(link), { fetch: server.fetch }));
    expect(error.code).toBe(code as never);
    expect(error.message).not.toContain(server.requests[0]!.hostname);
  });

  test("without a chunk, or without a response", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const opened = await openLink(fragmentOf(link), { fetch: server.fetch });
    server.respond = () => new Response("", { status: 404 });
    expect((await failure(opened.bytes(MiB * 4))).code).toBe("missing");
    const offline: Fetch = async () => {
      throw new TypeError("Failed to fetch");
    };
    expect((await failure(openLink(fragmentOf(link), { fetch: offline }))).code).toBe(
      "unreachable",
    );
  });

  test.each([
    ["&X-Amz-Extra=1", "another form than a link can hold"],
    ["?versionId=1", "another form than a link can hold"],
  ])("is not made of presigned URLs with %p", async (suffix, message) => {
    const server = await fakeServer();
    const address = await server.put(content(10));
    const { presign } = server.backend;
    const backend = {
      ...server.backend,
      presign: async (options: Parameters<NonNullable<typeof presign>>[0]) => {
        const reads = await presign!(options);
        return { ...reads, urlOf: (name: string) => reads.urlOf(name) + suffix };
      },
    };
    const made = server.link(address, { backend });
    expect(await made.catch((error: unknown) => error)).toMatchObject({
      name: "StorageError",
      code: "usage",
      message: expect.stringContaining(message) as string,
    });
  });

  test("refused after its time counts as expired", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    server.respond = () => new Response("", { status: 403 });
    setSystemTime(new Date(Date.now() + 2 * 3600_000));
    try {
      expect((await failure(openLink(fragmentOf(link), { fetch: server.fetch }))).code).toBe(
        "expired",
      );
    } finally {
      setSystemTime();
    }
  });

  test("no error has the secret", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const fragment = fragmentOf(link);
    const signature = fragment.split("~").at(-3)!;
    server.respond = () => new Response("<Code>AccessDenied</Code>", { status: 403 });
    const error = await failure(openLink(fragment, { fetch: server.fetch }));
    const text = Bun.inspect(error, { depth: 9 });
    expect(text).not.toContain(fragment.slice(-43));
    expect(text).not.toContain(signature);
    expect(text).not.toContain("X-Amz");
  });
});

describe("a list", () => {
  const secret = new Uint8Array(32).fill(9);
  const sealed = async (plaintext: Uint8Array): Promise<Uint8Array> => {
    const blob = new Uint8Array(59 + plaintext.length);
    const contentKey = kdf(secret, new Uint8Array(0), "idk-link/v1/list");
    sealChild(await loadNaCl(), { kind: "leaf", contentKey, plaintext, blob });
    return blob;
  };
  const map = (entries: number[], root: CborItem = Uint8Array.of(1)): Uint8Array =>
    encodeCborT(
      new Map([
        ["r", root],
        ["s", Uint8Array.from(entries)],
      ]),
    );
  const entry = (first: number): number[] => [first, ...Array.from({ length: 63 }, () => 1)];

  test("has the root and the signatures", async () => {
    const naCl = await loadNaCl();
    const signatures = new Map([
      ["ff".repeat(32), new Uint8Array(32).fill(1)],
      ["00".repeat(32), new Uint8Array(32).fill(2)],
    ]);
    const root = content(100);
    const { blob } = sealList(naCl, secret, { root, signatures });
    const list = openList(naCl, secret, blob);
    expect(list.root).toEqual(root);
    expect(Object.fromEntries(list.signatures)).toEqual(Object.fromEntries(signatures));
  });

  test("may be empty", async () => {
    const list = openList(await loadNaCl(), secret, await sealed(map([])));
    expect([list.root, list.signatures.size]).toEqual([Uint8Array.of(1), 0]);
  });

  test.each([
    ["not CBOR", Uint8Array.of(0xff)],
    ["not a map", Uint8Array.of(0x01)],
    ["an empty map", Uint8Array.of(0xa0)],
    [
      "another key",
      encodeCborT(
        new Map([
          ["r", Uint8Array.of(1)],
          ["t", Uint8Array.of()],
        ]),
      ),
    ],
    ["a third key", concat(Uint8Array.of(0xa3), map([]).subarray(1), Uint8Array.of(0x61, 0x74, 0))],
    ["a root that is text", map([], "root")],
    ["a root that is too long", map([], new Uint8Array(2 ** 21 + 65_558))],
    ["a part of an entry", map(entry(1).slice(1))],
    ["entries out of order", map([...entry(2), ...entry(1)])],
    ["an entry twice", map([...entry(1), ...entry(1)])],
    ["bytes after it", concat(map([]), Uint8Array.of(0))],
    ["a length that lies", Uint8Array.from([0xa2, 0x61, 0x72, 0x5a, 0xff, 0xff, 0xff, 0xff])],
  ])("is refused with %s", async (_, plaintext) => {
    const naCl = await loadNaCl();
    const blob = await sealed(plaintext);
    expect(() => openList(naCl, secret, blob)).toThrow("not the list of a link");
  });

  test("that lacks a chunk does not lead anywhere else", async () => {
    const server = await fakeServer();
    const { link } = await linkToTree(server);
    const fragment = parseFragment(fragmentOf(link));
    const naCl = await loadNaCl();
    const buffer = new Uint8Array(17 * MiB);
    const length = await server.backend.get(link.listAddress, buffer);
    const { root } = openList(naCl, fragment.secret, buffer.subarray(0, length));
    const bare = sealList(naCl, fragment.secret, { root, signatures: new Map() });
    server.respond = (name) =>
      name === bare.address ? new Response(bare.blob as Uint8Array<ArrayBuffer>) : undefined;
    const text = formatFragment({ ...fragment, address: bare.address });
    const opened = await openLink(text, { fetch: server.fetch });
    const count = server.requests.length;
    expect((await failure(opened.bytes(4 * MiB))).code).toBe("missing");
    expect(server.requests).toHaveLength(count);
  });

  test("has room for a terabyte", async () => {
    const naCl = await loadNaCl();
    const signature = new Uint8Array(32);
    // 10^12 bytes in chunks of 4 MiB, and nodes above them.
    const count = Math.ceil(1e12 / (4 * MiB)) + 59;
    const names = Array.from({ length: count }, (_, i) => i.toString(16).padStart(64, "0"));
    const signatures = new Map(names.map((name) => [name, signature]));
    const { blob } = sealList(naCl, secret, { root: new Uint8Array(5000), signatures });
    expect(blob.length).toBeLessThanOrEqual(16 * MiB + 59);
    const more = new Map(signatures);
    for (let i = 0; i < 30_000; i++) more.set(i.toString(16).padStart(64, "f"), signature);
    expect(() => sealList(naCl, secret, { root: new Uint8Array(5000), signatures: more })).toThrow(
      "a link has room for",
    );
  });
});

describe("making a link", () => {
  const small = async (server: FakeServer): Promise<string> => server.put(content(10));
  const keys = { secretAccessKey: "secret" };

  test.each([
    ["AWS", {}],
    ["MinIO", { endpoint: "https://minio.internal.example.com:9000", region: "us-east-1" }],
    [
      "B2",
      {
        endpoint: "https://s3.us-east-005.backblazeb2.com",
        region: "us-east-005",
        credentials: { ...keys, accessKeyId: "0051234567890ab0000000001" },
      },
    ],
    [
      "AWS with a session token",
      {
        credentials: {
          ...keys,
          accessKeyId: "ASIAIOSFODNN7EXAMPLE",
          sessionToken: "Ab+/".repeat(145),
        },
      },
    ],
  ])("of %s takes at most 1,024 characters", async (_, options) => {
    const server = await fakeServer(options);
    const { url } = await server.link(await small(server));
    expect(url.length).toBeLessThanOrEqual(LINK_MAX);
    expect((await openLink(fragmentOf({ url }), { fetch: server.fetch })).size).toBe(10);
  });

  test("of content that browsers cannot decode is refused", async () => {
    const server = await fakeServer();
    const made = server.link(await server.put(new Uint8Array(5000), { compression: "zstd" }));
    expect(await made.catch((error: unknown) => error)).toMatchObject({
      code: "usage",
      message: expect.stringContaining("zstd, which browsers cannot decode") as string,
    });
    expect(await Array.fromAsync(server.backend.list(""))).toHaveLength(1);
  });

  test("that would be too long says so, and stores nothing", async () => {
    const sessionToken = "A".repeat(900);
    const server = await fakeServer({
      credentials: { ...keys, accessKeyId: "ASIAIOSFODNN7EXAMPLE", sessionToken },
    });
    const address = await small(server);
    const made = server.link(address);
    expect(await made.catch((error: unknown) => error)).toMatchObject({
      code: "usage",
      message: expect.stringMatching(
        /^the link would have 1\d\d\d characters.*900 of them the session token/u,
      ) as string,
    });
    expect(await Array.fromAsync(server.backend.list(""))).toHaveLength(1);
  });

  test("needs a store with URLs that expire", async () => {
    for (const backend of [memory(), filesystem("/nowhere")]) {
      const server = await fakeServer();
      const made = server.link("ab".repeat(32), { backend });
      expect(await made.catch((error: unknown) => error)).toMatchObject({
        code: "usage",
        message: expect.stringContaining("links need a store on S3, MinIO or B2") as string,
      });
    }
  });

  test("needs a server with TLS, except on this machine", async () => {
    const server = await fakeServer({ endpoint: "http://minio.example:9000" });
    const made = server.link(await small(server));
    expect(await made.catch((error: unknown) => error)).toMatchObject({ code: "usage" });
    const local = await fakeServer({ endpoint: "http://127.0.0.1:9000" });
    expect((await local.link(await small(local))).url).toContain("#1~http://127.0.0.1:9000/files/");
  });

  test.each([
    "example.com",
    "http://example.com/",
    "https://user:secret@example.com/",
    "https://example.com/#x",
    "https://example.com/?x",
    "file:///page/index.html",
  ])("refuses the page %s", async (page) => {
    const server = await fakeServer();
    const made = server.link("ab".repeat(32), { page });
    expect(await made.catch((error: unknown) => error)).toMatchObject({ code: "usage" });
  });

  test("says that temporary credentials end it", async () => {
    const expiration = new Date(Date.now() + 60_000);
    const server = await fakeServer({
      credentials: { ...keys, accessKeyId: "ASIA", sessionToken: "token", expiration },
    });
    const { temporary, expires } = await server.link(await small(server), { expiresIn: 7200 });
    expect(temporary).toBe(true);
    expect(expires!.getTime()).toBeLessThanOrEqual(expiration.getTime());
  });
});
