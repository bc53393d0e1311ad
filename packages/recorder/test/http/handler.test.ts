import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { exchangeBytes } from "./raw.ts";

const JSON_TYPE = { "content-type": "application/json" };
const TEXT_TYPE = { "content-type": "text/plain; charset=utf-8" };
const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-handler-"));
  await Bun.write(join(folder, "small.txt"), "a file");
  await Bun.write(join(folder, "large.txt"), "f".repeat(300_000));
});
afterAll(() => rm(folder, { recursive: true }));

/** A stream with these chunks, each after a wait if there is one. */
function streamOf(chunks: readonly (string | Uint8Array)[], waitMs = 0): ReadableStream {
  const left = [...chunks];
  return new ReadableStream({
    async pull(controller) {
      if (waitMs > 0) await Bun.sleep(waitMs);
      const chunk = left.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

const file = (name: string): Bun.BunFile => Bun.file(join(folder, name));

function lookedAt(response: Response): Response {
  expect(response.body).not.toBeNull();
  return response;
}

/** Streams are left as they are. */
const UNSEEN = { why: "unseen", size: 0 };

/** Answers, and the recorded body: undefined for none. */
const answers: Record<string, [() => Response | Promise<Response>, object | undefined]> = {
  json: [() => Response.json({ a: 1 }), { text: '{"a":1}', size: 7 }],
  "large text": [
    () => new Response("y".repeat(100_000), { headers: TEXT_TYPE }),
    { text: "y".repeat(65_536), size: 100_000, cut: true },
  ],
  bytes: [() => new Response(encode("[1]"), { headers: JSON_TYPE }), { text: "[1]", size: 3 }],
  blob: [() => new Response(new Blob(["[2]"]), { headers: JSON_TYPE }), { text: "[2]", size: 3 }],
  later: [async () => Bun.sleep(5).then(() => Response.json(3)), { text: "3", size: 1 }],
  "status and headers": [
    () =>
      Response.json(null, {
        status: 418,
        statusText: "Short and stout",
        headers: [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ],
      }),
    { text: "null", size: 4 },
  ],
  "no body": [() => new Response(null, { status: 204 }), undefined],
  "empty text": [() => new Response("", { headers: TEXT_TYPE }), undefined],
  redirect: [() => Response.redirect("/elsewhere"), undefined],
  "text without a type": [() => new Response("hello"), { why: "unseen" }],
  "bytes without a type": [() => new Response(encode("<b>")), { why: "unseen" }],
  "a blob with a type of its own": [
    () => new Response(new Blob(["[3]"], { type: "application/json" })),
    { text: "[3]", size: 3 },
  ],
  "a blob without a type": [() => new Response(new Blob(["a"])), { text: "a", size: 1 }],
  "small file": [
    () => new Response(Bun.file(join(folder, "small.txt"))),
    { text: "a file", type: "text/plain;charset=utf-8" },
  ],
  "large file": [
    () => new Response(Bun.file(join(folder, "large.txt")), { headers: { "x-a": "1" } }),
    { text: "f".repeat(65_536), size: 300_000, cut: true },
  ],
  "one chunk": [() => new Response(streamOf(["[1]"]), { headers: JSON_TYPE }), UNSEEN],
  "several chunks at once": [
    () => new Response(streamOf(["[", encode("1"), "]"]), { headers: JSON_TYPE }),
    UNSEEN,
  ],
  "chunks over time": [
    () => new Response(streamOf(["[", "1", "]"], 5), { headers: JSON_TYPE }),
    UNSEEN,
  ],
  "a stream without a type": [() => new Response(streamOf(["a", "b"], 5)), UNSEEN],
  "the stream of a file": [() => new Response(file("small.txt").stream()), UNSEEN],
  "the stream of a large file": [() => new Response(file("large.txt").stream()), UNSEEN],
  "the stream of a large file, with a type": [
    () => new Response(file("large.txt").stream(), { headers: TEXT_TYPE }),
    UNSEEN,
  ],
  "a file whose stream was looked at": [() => lookedAt(new Response(file("large.txt"))), UNSEEN],
  "a blob whose stream was looked at": [
    () => lookedAt(new Response(new Blob(["[3]"], { type: "application/json" }))),
    UNSEEN,
  ],
  "large text whose stream was looked at": [
    () => lookedAt(Response.json("y".repeat(30_000))),
    UNSEEN,
  ],
  "the stream of another response": [
    () => {
      const other = Response.json("y".repeat(30_000));
      return new Response(other.body, other);
    },
    UNSEEN,
  ],
  "a generator": [
    () =>
      new Response(
        // Bun takes generators as bodies, which the standard types do not say.
        (async function* () {
          yield "[1";
          await Bun.sleep(5);
          yield "]";
        })() as unknown as ReadableStream,
        { headers: JSON_TYPE },
      ),
    UNSEEN,
  ],
};

const requests: Record<string, string> = {
  GET: "GET /x?y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "GET of a range": `GET /x?y HTTP/1.1\r\nHost: a\r\nRange: bytes=1-4\r\nConnection: close\r\n\r\n`,
  HEAD: "HEAD /x?y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
};

describe("a web handler on Bun", () => {
  for (const [name, [answer, body]] of Object.entries(answers)) {
    test(`sends the same bytes, and records them: ${name}`, async () => {
      await using archive = newArchive();
      const handler = archive.recorder.handler(() => answer());
      using plain = Bun.serve({ port: 0, fetch: () => answer() });
      using recorded = Bun.serve({ port: 0, fetch: handler });
      for (const request of Object.values(requests)) {
        const sent = await exchangeBytes(recorded.port!, request);
        expect(sent).toBe(await exchangeBytes(plain.port!, request));
      }
      await until(() => archive.recorder.stats().open === 0);
      const exchanges = await archive.exchanges();
      expect(exchanges).toHaveLength(Object.keys(requests).length);
      expect(exchanges.map(({ request }) => request.method).toSorted()).toEqual([
        "GET",
        "GET",
        "HEAD",
      ]);
      const exchange = exchanges.find(({ id }) => id.endsWith("-0"));
      expect(exchange?.request.url).toBe("/x?y");
      if (body === undefined) expect(exchange?.response?.body).toBeUndefined();
      else expect(exchange?.response?.body).toMatchObject(body);
      expect(exchange?.ended).toBeUndefined();
    });
  }

  test("chunks are sent when they are written, and a stream that fails, fails", async () => {
    await using archive = newArchive();
    const failing = (): ReadableStream => {
      let count = 0;
      return new ReadableStream({
        async pull(controller) {
          await Bun.sleep(100);
          count += 1;
          if (count === 1) controller.enqueue("data: 1\n\n");
          else controller.error(new Error("mid-stream"));
        },
      });
    };
    const headers = { "content-type": "text/event-stream" };
    using server = Bun.serve({
      port: 0,
      fetch: archive.recorder.handler(() => new Response(failing(), { headers })),
      error: () => new Response("error"),
    });
    const response = await fetch(server.url);
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("data: 1\n\n");
    await reader.read().catch(() => {});
    await until(() => archive.recorder.stats().open === 0);
    const [exchange] = await archive.exchanges();
    expect(exchange?.response?.body).toMatchObject(UNSEEN);
  });

  test("a client that goes away cancels the application's stream", async () => {
    await using archive = newArchive();
    let cancelled = false;
    const endless = (): ReadableStream =>
      new ReadableStream({
        async pull(controller) {
          await Bun.sleep(5);
          controller.enqueue(encode("x"));
        },
        cancel() {
          cancelled = true;
        },
      });
    using server = Bun.serve({
      port: 0,
      fetch: archive.recorder.handler(() => new Response(endless(), { headers: TEXT_TYPE })),
    });
    const gone = new AbortController();
    const response = await fetch(server.url, { signal: gone.signal });
    await response.body!.getReader().read();
    gone.abort();
    await until(() => cancelled);
    expect(cancelled).toBe(true);
    const [exchange] = await archive.exchanges();
    expect(exchange?.response?.body).toMatchObject(UNSEEN);
  });

  test("a handler that throws or rejects, does so as before", async () => {
    await using archive = newArchive();
    const handle = archive.recorder.handler((request: Request) => {
      if (request.url.endsWith("/later")) return Promise.reject(new Error("later"));
      throw new Error("at once");
    });
    expect(() => handle(new Request("http://a/now"))).toThrow("at once");
    expect(handle(new Request("http://a/later"))).rejects.toThrow("later");
    await until(() => archive.recorder.stats().open === 0);
    const exchanges = await archive.exchanges();
    expect(exchanges.map(({ ended, response }) => [ended, response])).toEqual([
      ["error", undefined],
      ["error", undefined],
    ]);
  });

  test("a websocket is upgraded, and passes untouched", async () => {
    await using archive = newArchive();
    using server = Bun.serve({
      port: 0,
      fetch: archive.recorder.handler((request: Request, server: Bun.Server<undefined>) =>
        server.upgrade(request) ? undefined : new Response("no", { status: 400 }),
      ),
      websocket: {
        message(socket, message) {
          socket.send(message);
        },
      },
    });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/`);
    const echoed = await new Promise((resolve) => {
      socket.addEventListener("open", () => socket.send("echo"));
      socket.addEventListener("message", ({ data }) => resolve(data));
    });
    socket.close();
    expect(echoed).toBe("echo");
    const [exchange] = await archive.exchanges();
    expect(exchange?.response).toBeUndefined();
  });

  const readers: Record<string, (request: Request) => Promise<unknown>> = {
    text: (request) => request.text(),
    json: (request) => request.json(),
    arrayBuffer: async (request) => Buffer.from(await request.arrayBuffer()).toString(),
    bytes: async (request) => Buffer.from(await request.bytes()).toString(),
    blob: async (request) => {
      const blob = await request.blob();
      return [blob.type, await blob.text()];
    },
    formData: async (request) => [...(await request.formData())],
    body: (request) => new Response(request.body).text(),
    "for await": async (request) => {
      let text = "";
      for await (const chunk of request.body!) text += Buffer.from(chunk).toString();
      return text;
    },
    twice: async (request) => [await request.text(), await request.text()],
    "a stream and then text": async (request) => {
      await request.body!.getReader().read();
      return request.text();
    },
    clone: (request) => request.clone().text(),
    "a look at the stream and then text": async (request) => [
      request.body === null,
      await request.text(),
    ],
  };
  const unseenReaders = new Set(["body", "for await", "a stream and then text", "clone"]);
  const types: Record<string, [type: string, body: string]> = {
    json: ["application/json", '{"a":"é"}'],
    "broken json": ["application/json", '{"a":'],
    form: ["application/x-www-form-urlencoded", "a=1&b=2"],
  };
  for (const [reader, read] of Object.entries(readers)) {
    for (const [name, [type, body]] of Object.entries(types)) {
      test(`the application reads the same from a request: ${reader} of ${name}`, async () => {
        await using archive = newArchive();
        const answer = async (request: Request): Promise<Response> => {
          try {
            return Response.json([await read(request), request.bodyUsed]);
          } catch (error) {
            return Response.json([`${(error as Error).name}: ${(error as Error).message}`]);
          }
        };
        using plain = Bun.serve({ port: 0, fetch: answer });
        using recorded = Bun.serve({ port: 0, fetch: archive.recorder.handler(answer) });
        const length = encode(body).length;
        const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n`;
        const more = `Content-Type: ${type}\r\nConnection: close\r\n\r\n`;
        const request = head + more + Buffer.from(body).toString("latin1");
        const sent = await exchangeBytes(recorded.port!, request);
        expect(sent).toBe(await exchangeBytes(plain.port!, request));
        const [exchange] = await archive.exchanges();
        if (unseenReaders.has(reader))
          expect(exchange?.request.body).toMatchObject({ why: "unseen" });
        else expect(exchange?.request.body).toMatchObject({ size: length });
      });
    }
  }
});
