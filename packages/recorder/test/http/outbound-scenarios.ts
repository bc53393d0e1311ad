import assert from "node:assert/strict";
import { runInNewContext } from "node:vm";
import type { FetchFunction } from "../../src/capture/outbound.ts";
import type { Exchange, RecordedBody } from "../../src/record/exchange.ts";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { expectNothingHeld } from "./leak-scenarios.ts";
import { type Listener, type Scenario, withServer } from "./raw.ts";

type Fetch = typeof globalThis.fetch;

/** Whether this is Bun, whose streams are left as they are. */
export const onBun: boolean = process.versions.bun !== undefined;

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

/**
 * What a client does gives the same with the recorder's `fetch`.
 *
 * @param ends its exchanges are over then
 */
export async function same(
  client: (fetch: Fetch, url: string) => Promise<unknown>,
  listener: Listener = echo,
  ends = true,
): Promise<{ exchanges: Exchange[]; result: unknown }> {
  const outcome = async (fetch: Fetch, url: string): Promise<unknown> => {
    try {
      return await client(fetch, url);
    } catch (error) {
      return (error as Error).name;
    }
  };
  return withServer(
    listener,
    () => {},
    async (port) => {
      const url = `http://127.0.0.1:${port}`;
      await using archive = newArchive();
      const plain = await outcome(globalThis.fetch, url);
      const result = await outcome(archive.recorder.fetch(globalThis.fetch), url);
      assert.deepEqual(result, plain);
      const exchanges = await archive.exchanges();
      if (ends) expectNothingHeld(archive);
      return { exchanges, result };
    },
  );
}

export function only(exchanges: readonly Exchange[]): Exchange {
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
    onBun ? { why: "unseen" } : { text: "[3]", size: 3 },
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
      const type = "application/json";
      if (onBun && name === "stream") {
        assert.deepEqual(response?.body, { size: 0, type, why: "unseen" });
      } else {
        assert.deepEqual(response?.body, { size: 7, type, text: '{"a":1}' });
      }
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
      assert.equal(only(cancelled.exchanges).ended, onBun ? undefined : "aborted");
    },
  },
  ...[
    ["an iterator", (): unknown => new Map([["x-a", "b"]]).entries()],
    ["a map", (): unknown => new Map([["x-a", "b"]])],
  ].map(([name, headers]) => ({
    name: `fetch: headers in ${name as string} arrive`,
    async run() {
      await using archive = newArchive();
      let arrived = "";
      const fetch = archive.recorder.fetch(async (_: unknown, init?: RequestInit) => {
        arrived = JSON.stringify([...new Headers(init?.headers)]);
        return new Response(null, { status: 204 });
      });
      const given = (headers as () => unknown)() as NonNullable<RequestInit["headers"]>;
      await fetch("http://a/", { headers: given });
      assert.equal(arrived, '[["x-a","b"]]');
      assert.deepEqual(only(await archive.exchanges()).request.headers, [["x-a", "b"]]);
    },
  })),
  {
    name: "fetch: options from an object with getters, whose body is replaced",
    async run() {
      class Options {
        readonly duplex = "half";
        get method(): string {
          return "POST";
        }
        get body(): ReadableStream {
          return new Blob(["[5]"]).stream();
        }
      }
      const { exchanges, result } = await same(async (fetch, url) =>
        (await fetch(url, new Options())).text(),
      );
      assert.equal(result, "[5]");
      assert.equal(only(exchanges).request.body?.size, onBun ? 0 : 3);
    },
  },
  {
    name: "fetch: a function that throws at once",
    async run() {
      await using archive = newArchive();
      const fetch = archive.recorder.fetch<FetchFunction>(() => {
        throw new Error("at once");
      });
      assert.throws(() => void fetch("http://a/"), /at once/u);
      assert.equal(only(await archive.exchanges()).ended, "error");
      expectNothingHeld(archive);
    },
  },
  {
    name: "fetch: the application keeps the memory of its chunks",
    async run() {
      const pooled = Buffer.from("pooled");
      const bytes = new TextEncoder().encode("[6]");
      const chunks = [pooled, new Uint8Array(0), bytes, bytes];
      await using archive = newArchive();
      const fetch = archive.recorder.fetch<FetchFunction>(
        async () =>
          new Response(
            new ReadableStream({
              start(controller) {
                for (const chunk of chunks) controller.enqueue(chunk);
                controller.close();
              },
            }),
          ),
      );
      let text = "";
      for await (const chunk of (await fetch("http://a/")).body!) text += Buffer.from(chunk);
      assert.equal(text, "pooled[6][6]");
      assert.deepEqual([pooled.toString(), bytes.length], ["pooled", 3]);
      assert.equal(only(await archive.exchanges()).response?.body?.size, onBun ? 0 : 12);
    },
  },
  {
    name: "fetch: a byte stream stays one, and its reader's buffer is filled",
    async run() {
      await using archive = newArchive();
      const source: UnderlyingByteSource = {
        type: "bytes",
        start(controller) {
          controller.enqueue(new TextEncoder().encode("[7]"));
          controller.close();
        },
      };
      const answer: FetchFunction = async () => new Response(new ReadableStream(source));
      const read = async (fetch: FetchFunction): Promise<unknown> => {
        const reader = (await fetch("http://a/")).body!.getReader({ mode: "byob" });
        const { value } = await reader.read(new Uint8Array(10));
        return Buffer.from(value!).toString();
      };
      assert.equal(await read(archive.recorder.fetch(answer)), await read(answer));
    },
  },
  {
    name: "fetch: the global class of responses was replaced by one that inherits from it",
    async run() {
      await using archive = newArchive();
      const { Response: Original } = globalThis;
      const Plain = function Plain() {};
      Object.setPrototypeOf(Plain.prototype, Original.prototype);
      class Other extends Original {}
      const fetch = archive.recorder.fetch(async (url: unknown) =>
        url === "http://a/other"
          ? new Other("[8]", { headers: JSON_TYPE })
          : new Original("[8]", { headers: JSON_TYPE }),
      );
      globalThis.Response = Plain as unknown as typeof Response;
      try {
        for (const path of ["", "other"]) {
          const response = await fetch(`http://a/${path}`);
          assert.equal(Buffer.from(await response.arrayBuffer()).toString(), "[8]");
        }
      } finally {
        globalThis.Response = Original;
      }
      const bodies = (await archive.exchanges()).map(({ response }) => response?.body);
      assert.deepEqual(
        bodies.map((body) => body?.text ?? body?.why),
        ["[8]", "unseen"],
      );
    },
  },
  {
    name: "fetch: a promise of another realm",
    async run() {
      await using archive = newArchive();
      const promised = runInNewContext("(value) => Promise.resolve(value)") as (
        value: Response,
      ) => Promise<Response>;
      const answer = (): Promise<Response> => promised(Response.json([9]));
      const fetch = archive.recorder.fetch<FetchFunction>(answer);
      assert.deepEqual(await (await fetch("http://a/")).json(), [9]);
      const handle = archive.recorder.handler(answer);
      const handled = handle(new Request("http://a/"));
      assert.deepEqual(await (await handled).json(), [9]);
      await until(() => archive.recorder.stats().open === 0);
      for (const { response } of await archive.exchanges()) {
        assert.deepEqual([response?.status, response?.body?.text], [200, "[9]"]);
      }
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
