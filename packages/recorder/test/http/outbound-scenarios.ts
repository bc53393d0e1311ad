import assert from "node:assert/strict";
import type { Exchange, RecordedBody } from "../../src/record/exchange.ts";
import { newArchive } from "../support/archive.ts";
import { type Listener, type Scenario, withServer } from "./raw.ts";

type Fetch = typeof globalThis.fetch;

/** Answers a body with itself, and otherwise with JSON. */
const echo: Listener = async (request, response) => {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  if (request.url === "/slow") await new Promise((resolve) => setTimeout(resolve, 200));
  if (request.url === "/reset") {
    response.destroy();
    return;
  }
  response.setHeader("content-type", request.headers["content-type"] ?? "application/json");
  response.end(body === "" ? '{"a":1}' : body);
};

/** What a client does gives the same with the recorder's `fetch`. */
async function same(
  client: (fetch: Fetch, url: string) => Promise<unknown>,
): Promise<{ exchanges: Exchange[]; result: unknown }> {
  const outcome = async (fetch: Fetch, url: string): Promise<unknown> => {
    try {
      return await client(fetch, url);
    } catch (error) {
      return (error as Error).name;
    }
  };
  return withServer(
    echo,
    () => {},
    async (port) => {
      const url = `http://127.0.0.1:${port}`;
      await using archive = newArchive();
      const plain = await outcome(globalThis.fetch, url);
      const result = await outcome(archive.recorder.fetch(globalThis.fetch), url);
      assert.deepEqual(result, plain);
      return { exchanges: await archive.exchanges(), result };
    },
  );
}

function only(exchanges: readonly Exchange[]): Exchange {
  assert.equal(exchanges.length, 1);
  return exchanges[0]!;
}

const JSON_TYPE = { "content-type": "application/json" };
/** How applications read responses. */
const readers: Record<string, (response: Response) => Promise<unknown>> = {
  text: (response) => response.text(),
  json: (response) => response.json(),
  arrayBuffer: async (response) => Buffer.from(await response.arrayBuffer()).toString(),
  blob: async (response) => (await response.blob()).text(),
  stream: async (response) => {
    let text = "";
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
    return text;
  },
  twice: async (response) => [await response.text(), await response.text()],
  properties: async (response) => [response.status, response.redirected, await response.text()],
};

/** Bodies that are sent: how they are recorded. */
const bodies: Record<string, [() => RequestInit, Partial<RecordedBody>]> = {
  text: [() => ({ body: "plain" }), { text: "plain", size: 5 }],
  json: [() => ({ body: "[1]", headers: JSON_TYPE }), { text: "[1]", type: "application/json" }],
  form: [() => ({ body: new URLSearchParams({ a: "1" }) }), { text: "a=1" }],
  bytes: [() => ({ body: new TextEncoder().encode("[2]"), headers: JSON_TYPE }), { text: "[2]" }],
  blob: [() => ({ body: new Blob(["xyz"]) }), { why: "unseen", size: 3 }],
  stream: [
    () => ({
      body: new Blob(["[3]"]).stream(),
      headers: JSON_TYPE,
      duplex: "half",
    }),
    { text: "[3]", size: 3 },
  ],
};

export const outboundScenarios: readonly Scenario[] = [
  ...Object.entries(readers).map(([name, read]) => ({
    name: `fetch: the response is read by ${name}`,
    async run() {
      const { exchanges } = await same(async (fetch, url) => read(await fetch(`${url}/a?b=c`)));
      const { direction, ended, request, response } = only(exchanges);
      assert.equal(direction, "out");
      assert.ok(ended === undefined || name === "twice");
      assert.match(request.url, /^http:\/\/127\.0\.0\.1:\d+\/a\?b=c$/u);
      assert.deepEqual(response?.body, { size: 7, type: "application/json", text: '{"a":1}' });
    },
  })),
  ...Object.entries(bodies).map(([name, [init, body]]) => ({
    name: `fetch: a request with a body: ${name}`,
    async run() {
      const { exchanges } = await same(async (fetch, url) => {
        const response = await fetch(url, { method: "post", ...init() });
        return response.text();
      });
      const { request } = only(exchanges);
      assert.equal(request.method, "POST");
      for (const [key, value] of Object.entries(body)) {
        assert.deepEqual(request.body?.[key as keyof RecordedBody], value);
      }
    },
  })),
  {
    name: "fetch: a Request as input, whose body is not seen",
    async run() {
      const { exchanges } = await same(async (fetch, url) => {
        const request = new Request(url, { method: "PUT", body: "[4]", headers: JSON_TYPE });
        return (await fetch(request)).text();
      });
      const { request, response } = only(exchanges);
      assert.deepEqual([request.method, request.body?.why], ["PUT", "unseen"]);
      assert.equal(response?.body?.text, "[4]");
    },
  },
  {
    name: "fetch: HEAD, failures and aborts",
    async run() {
      const head = only(
        (await same(async (fetch, url) => (await fetch(url, { method: "HEAD" })).status)).exchanges,
      );
      assert.deepEqual([head.response?.status, head.response?.body], [200, undefined]);
      const reset = await same(async (fetch, url) => fetch(`${url}/reset`));
      assert.deepEqual(
        [only(reset.exchanges).ended, reset.exchanges[0]?.response],
        ["error", undefined],
      );
      const aborted = await same(async (fetch, url) =>
        fetch(`${url}/slow`, { signal: AbortSignal.timeout(50) }),
      );
      assert.equal(only(aborted.exchanges).ended, "error");
      assert.equal(aborted.result, "TimeoutError");
      const cancelled = await same(async (fetch, url) => {
        await (await fetch(url)).body!.cancel();
        return "cancelled";
      });
      assert.equal(only(cancelled.exchanges).ended, "aborted");
    },
  },
  {
    name: "fetch: properties of the given function stay",
    async run() {
      await using archive = newArchive();
      const given = Object.assign(async () => new Response("x"), { preconnect: () => 1 });
      const recorded = archive.recorder.fetch(given);
      assert.equal(recorded.preconnect(), 1);
    },
  },
];
