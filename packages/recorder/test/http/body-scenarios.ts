import assert from "node:assert/strict";
import { newArchive } from "../support/archive.ts";
import { onBun, only, same } from "./outbound-scenarios.ts";
import type { Listener, Scenario } from "./raw.ts";

/** Answers what arrived, and how its length was told. */
const describe: Listener = async (request, response) => {
  let got = "";
  for await (const chunk of request) got += String(chunk);
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ got, length, encoding }));
};

async function textOf(stream: ReadableStream | null): Promise<string> {
  let text = "";
  for await (const chunk of stream!) text += Buffer.from(chunk as Uint8Array).toString();
  return text;
}

/** Ways to read a body more than once, or to try. */
const readings: Record<string, (message: Request | Response) => Promise<unknown>> = {
  "looked at, cloned, and read from both": async (message) => {
    if (message.body === null) throw new Error("none");
    return [await message.clone().text(), await textOf(message.body)];
  },
  "looked at, cloned, and read as text": async (message) => {
    if (message.body === null) throw new Error("none");
    return [await message.clone().text(), await message.text()];
  },
  "cloned, and read from both": async (message) => {
    const copy = message.clone();
    return [await textOf(message.body), await textOf(copy.body)];
  },
  "kept, cloned, and read": async (message) => {
    const { body } = message;
    message.clone();
    return [body!.locked, await textOf(body)];
  },
  "locked, and read as text": (message) => {
    message.body!.getReader();
    return message.text();
  },
  "locked, and cloned": (message) => {
    message.body!.getReader();
    return message.clone().text();
  },
  "locked, released, and read as text": (message) => {
    message.body!.getReader().releaseLock();
    return message.text();
  },
  "begun, and read as text": async (message) => {
    await message.body!.getReader().read();
    return message.text();
  },
  "begun, released, and cloned": async (message) => {
    const reader = message.body!.getReader();
    await reader.read();
    reader.releaseLock();
    return message.clone().text();
  },
  "kept, read as text, and asked for its state": async (message) => {
    const { body } = message;
    const text = await message.text();
    return [text, message.bodyUsed, message.body?.locked, body?.locked];
  },
  "asked for twice": async (message) => [message.body === message.body, await message.text()],
  "cancelled, and read as text": async (message) => {
    await message.body!.cancel();
    return [message.bodyUsed, await message.text()];
  },
  "put into another response": (message) => new Response(message.body).text(),
};

/** Ways to read a request in others. */
const wrappings: Record<string, (request: Request) => Promise<unknown>> = {
  "in another one, read there": (request) => new Request(request).text(),
  "in another one with a URL, read there": (request) => new Request("http://b/", request).text(),
  "in another one with headers, read before": async (request) => {
    const other = new Request(request.clone(), { headers: { a: "b" } });
    return [await request.text(), await other.text()];
  },
};

/** What only Bun allows, and for requests without properties of their own: see docs/recorder.md. */
const doubleWrappings: Record<string, (request: Request) => Promise<unknown>> = {
  "in another one, both read": async (request) => {
    const other = new Request(request);
    return [await other.text(), await request.text()];
  },
  "in another one with a URL, both read": async (request) => {
    const other = new Request("http://b/", request);
    return [await other.text(), await request.text()];
  },
  "in two others": async (request) => [
    await new Request(request).text(),
    await new Request(request).text(),
  ],
};

const encoded = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

function streamOf(...chunks: readonly string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoded(chunk));
      controller.close();
    },
  });
}

/** Streams that are sent: how. Options are made anew for each `fetch`. */
const uploads: Record<string, () => Promise<RequestInit> | RequestInit> = {
  "that was read": async () => {
    const body = new Blob(["data"]).stream();
    await textOf(body);
    return { body, duplex: "half" };
  },
  "that was read in part": async () => {
    const body = streamOf("one ", "two");
    const reader = body.getReader();
    await reader.read();
    reader.releaseLock();
    return { body, duplex: "half" };
  },
  "that was cancelled": async () => {
    const body = streamOf("data");
    await body.cancel();
    return { body, duplex: "half" };
  },
  "that is locked": () => {
    const body = streamOf("data");
    body.getReader();
    return { body, duplex: "half" };
  },
  "of the application": () => ({ body: streamOf("one ", "two"), duplex: "half" }),
  "of a blob": () => ({ body: new Blob(["data"]).stream(), duplex: "half" }),
  "without `duplex`": () => ({ body: new Blob(["data"]).stream() }),
};

async function outcomeOf(read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    return (error as Error).name;
  }
}

/** What applications do with bodies gives the same with a recorder; run on Bun and on Node. */
export const bodyScenarios: readonly Scenario[] = [
  ...Object.entries(readings).map(([name, read]) => ({
    name: `fetch: the body of a response is ${name}`,
    async run() {
      await same(async (fetch, url) => read(await fetch(url)), describe, false);
    },
  })),
  ...Object.entries({ ...readings, ...wrappings, ...doubleWrappings }).map(([name, read]) => ({
    name: `a web handler: the body of a request is ${name}`,
    async run() {
      await using archive = newArchive();
      let result: unknown;
      const handle = async (request: Request): Promise<Response> => {
        result = await outcomeOf(() => read(request));
        return new Response(null, { status: 204 });
      };
      const headers = { "content-length": "4", "content-type": "text/plain" };
      const init = { method: "POST", body: "data", headers };
      await handle(new Request("http://a/", init));
      const plain = result;
      await archive.recorder.handler(handle)(new Request("http://a/", init));
      assert.deepEqual(result, onBun && name in doubleWrappings ? "TypeError" : plain);
      assert.equal((await archive.exchanges()).length, 1);
    },
  })),
  ...Object.entries(uploads).map(([name, init]) => ({
    name: `fetch: a request with a stream ${name}`,
    async run() {
      await same(
        async (fetch, url) => (await fetch(url, { method: "POST", ...(await init()) })).text(),
        describe,
      );
    },
  })),
  {
    name: "fetch: the body of a response is sent on",
    async run() {
      await same(async (fetch, url) => {
        const { body } = await fetch(url);
        return (await fetch(url, { method: "POST", body, duplex: "half" } as RequestInit)).text();
      }, describe);
    },
  },
  {
    name: "fetch: a stream that is read is recorded on Node, and unseen on Bun",
    async run() {
      const { exchanges } = await same(async (fetch, url) => {
        const response = await fetch(url);
        const copy = response.clone();
        return [await textOf(response.body), await copy.text()];
      });
      const { ended, response } = only(exchanges);
      const seen = onBun ? { size: 0, why: "unseen" } : { size: 7, text: '{"a":1}' };
      assert.deepEqual(response?.body, { ...seen, type: "application/json" });
      assert.equal(ended, undefined);
    },
  },
  {
    name: "fetch: text that is read after a look at the stream is recorded",
    async run() {
      const { exchanges } = await same(async (fetch, url) => {
        const response = await fetch(url);
        return response.body === null ? null : response.text();
      });
      assert.equal(only(exchanges).response?.body?.text, '{"a":1}');
    },
  },
];
