import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Exchange } from "../../src/record/exchange.ts";
import { type Archive, newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { bodyScenarios } from "./body-scenarios.ts";
import { faultScenarios } from "./fault-scenarios.ts";
import { memoryScenarios } from "./memory-scenarios.ts";
import { outboundScenarios } from "./outbound-scenarios.ts";
import { replacedClassScenarios } from "./replaced-class-scenarios.ts";
import { expectNothingHeld, leakScenarios } from "./leak-scenarios.ts";
import { exchangeBytes, type Listener, open, type Scenario, withServer } from "./raw.ts";

const CLOSE = "Connection: close\r\n";
const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
const post = (body: string, more = ""): string =>
  `POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${CLOSE}${more}\r\n${body}`;

/** Serves one client with a recorder, and returns what was recorded. */
async function record(
  listener: Listener,
  client: (port: number) => Promise<unknown>,
  archive: Archive = newArchive(),
): Promise<Exchange[]> {
  await using kept = archive;
  await withServer(
    listener,
    (server) => kept.recorder.attach(server),
    async (port) => {
      await client(port);
      await until(() => kept.recorder.stats().open === 0);
    },
  );
  const exchanges = await kept.exchanges();
  expectNothingHeld(kept);
  return exchanges;
}

/** What a client receives without a recorder and with one has to be the same. */
async function same(listener: Listener, request: string): Promise<Exchange[]> {
  const plain = await withServer(
    listener,
    () => {},
    (port) => exchangeBytes(port, request),
  );
  let recorded = "";
  const exchanges = await record(listener, async (port) => {
    recorded = await exchangeBytes(port, request);
  });
  assert.equal(recorded, plain);
  return exchanges;
}

function only(exchanges: readonly Exchange[]): Exchange {
  assert.equal(exchanges.length, 1);
  return exchanges[0]!;
}

function json(response: ServerResponse, value: unknown): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(value));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** Cases for `attach` and `fetch`, run on Bun and on Node. */
export const scenarios: readonly Scenario[] = [
  {
    name: "a GET with a JSON answer",
    async run() {
      const exchange = only(
        await same((_, response) => json(response, { a: 1 }), get("/x?q=1", `X-A: b\r\n${CLOSE}`)),
      );
      assert.match(exchange.id, /^[0-9a-f]{12}-0$/u);
      assert.equal(exchange.direction, "in");
      assert.equal(exchange.ended, undefined);
      assert.deepEqual(exchange.request, {
        method: "GET",
        url: "/x?q=1",
        http: "1.1",
        headers: [
          ["Host", "a"],
          ["X-A", "b"],
          ["Connection", "close"],
        ],
      });
      assert.equal(exchange.response?.status, 200);
      assert.deepEqual(exchange.response.body, {
        size: 7,
        type: "application/json",
        text: '{"a":1}',
      });
    },
  },
  {
    name: "a POST whose handler reads the body",
    async run() {
      const exchange = only(
        await same(
          async (request, response) => {
            json(response, { got: await bodyOf(request) });
          },
          post('{"in":2}', "Content-Type: application/json\r\n"),
        ),
      );
      assert.deepEqual(exchange.request.body, {
        size: 8,
        type: "application/json",
        text: '{"in":2}',
      });
      assert.equal(exchange.response?.body?.text, '{"got":"{\\"in\\":2}"}');
    },
  },
  {
    name: "several writes, strings and bytes, with encodings and callbacks",
    async run() {
      let called = 0;
      const done = (): void => void (called += 1);
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain; charset=utf-8");
        response.write("é", done);
        response.write("c3a9", "hex", done);
        response.write(Buffer.from("z"));
        response.end("YQ==", "base64", done);
      };
      const exchange = only(await same(listener, get("/", CLOSE)));
      assert.deepEqual(exchange.response?.body?.text, "ééza");
      assert.equal(called, 6);
    },
  },
  {
    name: "writeHead with a list, duplicate headers and a reason",
    async run() {
      const listener: Listener = (_, response) => {
        response.writeHead(201, "Made", ["X-A", "1", "X-Link", "a", "X-Link", "b"]);
        response.end();
      };
      const { response } = only(await same(listener, get("/", CLOSE)));
      assert.equal(response?.status, 201);
      assert.equal(response.reason, "Made");
      const named = response.headers.map(([name, value]) => `${name.toLowerCase()}=${value}`);
      assert.deepEqual(
        named.filter((header) => header.startsWith("x-")),
        ["x-a=1", "x-link=a", "x-link=b"],
      );
    },
  },
  {
    name: "HEAD, 204 and 304 have no body",
    async run() {
      const head = only(
        await same(
          (_, response) => json(response, { a: 1 }),
          `HEAD / HTTP/1.1\r\nHost: a\r\n${CLOSE}\r\n`,
        ),
      );
      assert.equal(head.response?.body, undefined);
      for (const status of [204, 304]) {
        const listener: Listener = (_, response) => {
          response.statusCode = status;
          response.end();
        };
        const exchange = only(await same(listener, get("/", CLOSE)));
        assert.deepEqual([exchange.response?.status, exchange.response?.body], [status, undefined]);
      }
    },
  },
  {
    name: "an upload that is aborted",
    async run() {
      const listener: Listener = (request, response) => {
        request.on("error", () => {});
        request.on("end", () => response.end("never"));
        request.resume();
      };
      const archive = newArchive();
      const client = async (port: number): Promise<void> => {
        const more = "Content-Type: text/plain\r\n";
        const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n${more}\r\nthe beginning`;
        const { socket } = open(port, head);
        await until(() => archive.recorder.stats().open === 1);
        await new Promise((resolve) => setTimeout(resolve, 100));
        socket.destroy();
        await new Promise((resolve) => setTimeout(resolve, 100));
      };
      const exchange = only(await record(listener, client, archive));
      assert.equal(exchange.ended, "aborted");
      assert.equal(exchange.response, undefined);
      assert.deepEqual(exchange.request.body, {
        size: 13,
        type: "text/plain",
        text: "the beginning",
        cut: true,
      });
    },
  },
  {
    name: "a download that is aborted",
    async run() {
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain");
        response.write("first");
      };
      const exchange = only(
        await record(listener, async (port) => {
          const connection = open(port, get("/"));
          await connection.until("first");
          connection.socket.destroy();
          await new Promise((resolve) => setTimeout(resolve, 100));
        }),
      );
      assert.equal(exchange.ended, "aborted");
      assert.equal(exchange.response?.status, 200);
      assert.deepEqual(exchange.response.body, {
        size: 5,
        type: "text/plain",
        text: "first",
        cut: true,
      });
    },
  },
  {
    name: "a body that nobody reads, and a response before it",
    async run() {
      const body = "x".repeat(1000);
      const exchange = only(
        await same(
          (_, response) => response.end("early"),
          post(body, "Content-Type: text/plain\r\n"),
        ),
      );
      assert.equal(exchange.response?.status, 200);
      assert.ok((exchange.request.body?.size ?? 0) <= 1000);
    },
  },
  {
    name: "server-sent events arrive as they are written",
    async run() {
      const listener: Listener = (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: 1\n\n");
        setTimeout(() => response.end("data: 2\n\n"), 300);
      };
      const exchange = only(
        await record(listener, async (port) => {
          const connection = open(port, get("/", CLOSE));
          const first = await connection.until("data: 1");
          assert.ok(!first.includes("data: 2"));
          await connection.all();
        }),
      );
      assert.equal(exchange.response?.body?.size, 18);
      assert.ok(exchange.ms >= 250);
    },
  },
  {
    name: "Expect: 100-continue",
    async run() {
      const listener: Listener = async (request, response) => {
        response.end(await bodyOf(request));
      };
      const exchange = only(
        await record(listener, async (port) => {
          const more = `Content-Type: text/plain\r\nExpect: 100-continue\r\n${CLOSE}`;
          const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n${more}\r\n`;
          const connection = open(port, head);
          await connection.until("100 Continue");
          connection.socket.write("hello");
          assert.match(await connection.all(), /200 OK[^]*hello$/u);
        }),
      );
      assert.equal(exchange.request.body?.text, "hello");
      assert.equal(exchange.response?.status, 200);
    },
  },
  {
    name: "pipelined requests, one connection",
    async run() {
      const listener: Listener = ({ url }, response) => {
        setTimeout(() => json(response, url), url === "/1" ? 50 : 0);
      };
      const exchanges = await same(listener, get("/1") + get("/2") + get("/3", CLOSE));
      const texts = exchanges.map(({ request, response }) => [request.url, response?.body?.text]);
      assert.deepEqual(
        texts.toSorted(([a = ""], [b = ""]) => a.localeCompare(b)),
        ["/1", "/2", "/3"].map((url) => [url, JSON.stringify(url)]),
      );
    },
  },
  {
    name: "non-UTF-8 headers and invalid URLs",
    async run() {
      const listener: Listener = (_, response) => {
        response.setHeader("x-latin", "\u00E9");
        response.end();
      };
      for (const url of ["//", "/%zz?%", "/a?b=%E9&c=d"]) {
        const exchange = only(await same(listener, get(url, `X-In: \u00FF\r\n${CLOSE}`)));
        assert.ok(exchange.request.url.startsWith(url.slice(0, 2)));
        assert.ok(exchange.request.headers.some(([, value]) => value === "\u00FF"));
      }
    },
  },
  {
    name: "a response that the application writes after its end",
    async run() {
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain");
        response.on("error", () => {});
        response.end("once");
        response.write("twice");
        response.end("thrice");
      };
      const exchange = only(await same(listener, get("/", CLOSE)));
      assert.deepEqual(exchange.response?.body?.text, "once");
    },
  },
  {
    name: "a write that throws, throws as before",
    async run() {
      const caught: unknown[] = [];
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain");
        try {
          response.write(7);
        } catch (error) {
          caught.push((error as { code?: unknown }).code);
        }
        response.end("after");
      };
      const exchange = only(await same(listener, get("/", CLOSE)));
      assert.equal(caught.length, 2);
      assert.equal(caught[0], caught[1]);
      assert.equal(exchange.response?.body?.text, "after");
    },
  },
  {
    name: "bodies are cut at their limit, and the client gets all of them",
    async run() {
      const text = "é".repeat(100_000);
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain; charset=utf-8");
        response.write(text);
        response.end(Buffer.from(text));
      };
      const exchange = only(await same(listener, get("/", CLOSE)));
      const { body } = exchange.response!;
      assert.equal(body?.size, 400_000);
      assert.equal(body.cut, true);
      assert.equal(body.text, text.slice(0, 32_768));
    },
  },
  {
    name: "an upgrade passes untouched",
    async run() {
      const archive = newArchive();
      await using kept = archive;
      await withServer(
        (_, response) => response.end(),
        (server) => {
          kept.recorder.attach(server);
          server.on("upgrade", (_, socket) => {
            socket.write(
              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
            );
            socket.on("data", (chunk: Buffer) => socket.end(chunk));
          });
        },
        async (port) => {
          const connection = open(port, get("/", "Upgrade: x\r\nConnection: Upgrade\r\n"));
          await connection.until("\r\n\r\n");
          connection.socket.write("echo");
          assert.match(await connection.all(), /\r\n\r\necho$/u);
        },
      );
      assert.equal(kept.recorder.stats().seen, 0);
    },
  },
  {
    name: "an exchange that is open when the recorder is closed",
    async run() {
      const backend = (await import("@idk/storage/memory")).memory();
      const archive = newArchive({ backend });
      const listener: Listener = (_, response) => {
        response.setHeader("content-type", "text/plain");
        response.write("so far");
      };
      await withServer(
        listener,
        (server) => archive.recorder.attach(server),
        async (port) => {
          await open(port, get("/")).until("so far");
          assert.equal(await archive.recorder.close(), true);
        },
      );
      const { exchangesIn } = await import("../support/archive.ts");
      const exchange = only(await exchangesIn(backend));
      assert.deepEqual([exchange.ended, exchange.response?.body?.text], ["open", "so far"]);
      await archive[Symbol.asyncDispose]();
    },
  },
  {
    name: "a web handler, and a request whose body it reads",
    async run() {
      await using archive = newArchive();
      const handle = archive.recorder.handler(async (request: Request, suffix: string) => {
        const { name } = (await request.json()) as { name: string };
        return new Response(JSON.stringify(name + suffix), {
          status: 201,
          headers: { "content-type": "application/json" },
        });
      });
      const body = '{"name":"a"}';
      const headers = { "content-type": "application/json", "content-length": "12" };
      const request = new Request("http://a/names?x=1", { method: "POST", body, headers });
      const response = await handle(request, "!");
      assert.deepEqual([response.status, await response.json()], [201, "a!"]);
      const exchange = only(await archive.exchanges());
      assert.equal(exchange.request.url, "/names?x=1");
      assert.equal(exchange.request.body?.text, body);
      assert.deepEqual([exchange.response?.status, exchange.response?.body?.text], [201, '"a!"']);
    },
  },
  ...outboundScenarios,
  ...replacedClassScenarios,
  ...bodyScenarios,
  ...faultScenarios,
  ...memoryScenarios,
  ...leakScenarios,
];
