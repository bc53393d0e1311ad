import { memory } from "@idk/storage/memory";
import { expect, test } from "bun:test";
import {
  type Tally,
  countingBackend,
  countingProxy,
  newTally,
} from "../../src/compare/round/counting.ts";

/** The counts that are not 0. */
const counted = (tally: Tally) =>
  Object.fromEntries(Object.entries(tally).filter(([, count]) => count > 0));
const NAME = "a".repeat(64);

test("counts each backend call as a request, and the bytes of blobs in both directions", async () => {
  const tally = newTally();
  const backend = countingBackend(memory(), tally);
  await backend.put(NAME, new Uint8Array(100));
  expect(counted(tally)).toEqual({ PUT: 1, bytesSent: 100 });
  expect(await backend.get(NAME, new Uint8Array(500))).toBe(100);
  expect(counted(tally)).toEqual({
    PUT: 1,
    GET: 1,
    bytesSent: 100,
    bytesReceived: 100,
  });
  expect(await backend.head(NAME)).toMatchObject({ size: 100 });
  expect((await Array.fromAsync(backend.list(""))).map(({ name }) => name)).toEqual([NAME]);
  await backend.delete(NAME);
  expect(await backend.head(NAME)).toBeUndefined();
  expect(counted(tally)).toEqual({
    PUT: 1,
    GET: 2,
    HEAD: 2,
    DELETE: 1,
    bytesSent: 100,
    bytesReceived: 100,
  });
});

test("keeps optional methods of the backend, and adds none", async () => {
  const tally = newTally();
  expect(countingBackend(memory(), tally)).not.toContainKeys(["listAfter", "capabilities"]);
  const capabilities = { verifiesChecksums: true, conditionalPut: false, versions: false };
  let closed = 0;
  const backend = countingBackend(
    {
      ...memory(),
      async capabilities() {
        return capabilities;
      },
      async *listAfter(_, after) {
        yield { name: after, size: 1 };
      },
      async close() {
        closed += 1;
      },
    },
    tally,
  );
  expect(await backend.capabilities!()).toEqual(capabilities);
  expect(await Array.fromAsync(backend.listAfter!("", NAME))).toEqual([{ name: NAME, size: 1 }]);
  await backend.close!();
  expect(counted(tally)).toEqual({ GET: 1, HEAD: 1 });
  expect(closed).toBe(1);
});

test("the proxy counts requests and bodies, and forwards both unchanged", async () => {
  const seen: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = await request.text();
      seen.push(`${request.method} ${request.headers.get("host")} ${pathname}${search} ${body}`);
      if (request.method === "PUT") return new Response(null, { status: 412 });
      return new Response("answer", { headers: { etag: '"e"' } });
    },
  });
  const tally = newTally();
  try {
    await using proxy = countingProxy(`http://127.0.0.1:${server.port}`, tally);
    const url = `${proxy.endpoint}/bucket/a%2Fb?list-type=2&prefix=a%2F`;
    const put = await fetch(url, { method: "PUT", body: "twelve bytes" });
    expect(put.status).toBe(412);
    expect(counted(tally)).toEqual({ PUT: 1, bytesSent: 12 });
    const get = await fetch(url);
    expect(await get.text()).toBe("answer");
    expect(get.headers.get("etag")).toBe('"e"');
    const head = await fetch(url, { method: "HEAD" });
    expect(head.headers.get("etag")).toBe('"e"');
    expect(counted(tally)).toEqual({
      PUT: 1,
      GET: 1,
      HEAD: 1,
      bytesSent: 12,
      bytesReceived: 6,
    });
    const { host } = new URL(proxy.endpoint);
    const path = "/bucket/a%2Fb?list-type=2&prefix=a%2F";
    expect(seen).toEqual([
      `PUT ${host} ${path} twelve bytes`,
      `GET ${host} ${path} `,
      `HEAD ${host} ${path} `,
    ]);
  } finally {
    await server.stop(true);
  }
});
