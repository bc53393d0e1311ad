import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { memory } from "@idk/storage/memory";
import type { FetchFunction } from "../../src/capture/outbound.ts";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { expectNothingHeld } from "./leak-scenarios.ts";
import { only } from "./outbound-scenarios.ts";
import { exchangeBytes, type Listener, type Scenario, withServer } from "./raw.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/** Functions in place of `fetch`, as tests have them, and what is recorded of their answers. */
const mocks: Record<string, [() => unknown, number | undefined]> = {
  "a response at once": [() => new Response("1", { status: 201 }), 201],
  "an object": [async () => ({ ok: true, json: async () => 1 }), undefined],
  "an object with headers": [
    async () => ({ status: 202, statusText: "", headers: new Headers(), json: async () => 1 }),
    202,
  ],
  nothing: [() => undefined, undefined],
  "a response with a method of its own": [
    async () => {
      class Own extends Response {
        override async json(): Promise<unknown> {
          return 1;
        }
      }
      return new Own("[2]", { status: 203 });
    },
    203,
  ],
};

/** Sends a POST without `Content-Length` by HTTP/2, and returns the answer. */
async function postByHttp2(port: number, body: string): Promise<string> {
  const client = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = client.request({ ":method": "POST", "content-type": "application/json" });
    stream.write(body.slice(0, 3));
    stream.end(body.slice(3));
    let answer = "";
    for await (const chunk of stream) answer += String(chunk);
    return answer;
  } finally {
    client.close();
  }
}

/** Faults and unusual behaviour of the application and of what it talks to, on Bun and on Node. */
export const faultScenarios: readonly Scenario[] = [
  ...Object.entries(mocks).map(([name, [mock, status]]) => ({
    name: `fetch: a function that answers ${name}`,
    async run() {
      await using archive = newArchive({ onError: () => {} });
      const answer = await archive.recorder.fetch(mock as FetchFunction)("http://a/");
      const plain = (await mock()) as Response | undefined;
      assert.equal(answer?.status, plain?.status);
      if (typeof answer?.json === "function" && answer.body !== null) {
        assert.equal(await answer.json(), 1);
      }
      assert.equal(only(await archive.exchanges()).response?.status, status);
      expectNothingHeld(archive);
    },
  })),
  {
    name: "a route that throws when it is asked for",
    async run() {
      await using archive = newArchive({ onError: () => {} });
      const listener: Listener = (request, response) => {
        Object.defineProperty(request, "route", {
          get() {
            throw new Error("route");
          },
        });
        response.end();
      };
      await withServer(
        listener,
        (server) => archive.recorder.attach(server),
        (port) => exchangeBytes(port, GET),
      );
      await until(() => archive.recorder.stats().open === 0);
      const { ended, response } = only(await archive.exchanges());
      assert.deepEqual([ended, response?.status], [undefined, 200]);
      expectNothingHeld(archive);
    },
  },
  {
    name: "a response whose properties throw",
    async run() {
      await using archive = newArchive({ onError: () => {} });
      const response = new Response("x", { headers: { "content-type": "text/plain" } });
      Object.defineProperty(response, "status", {
        get() {
          throw new Error("status");
        },
      });
      const handle = archive.recorder.handler(() => response);
      assert.equal(handle(new Request("http://a/")), response);
      await until(() => archive.recorder.stats().open === 0);
      assert.equal(only(await archive.exchanges()).request.url, "/");
      expectNothingHeld(archive);
    },
  },
  {
    name: "a keep and a handler of errors that reject with promises of another realm",
    async run() {
      const rejected: unknown[] = [];
      const onRejection = (error: unknown): void => void rejected.push(error);
      process.on("unhandledRejection", onRejection);
      const reject = runInNewContext("(text) => Promise.reject(new Error(text))") as () => never;
      const messages: string[] = [];
      const onError = ({ message }: Error): void => {
        messages.push(message);
        return reject();
      };
      await using archive = newArchive({ keep: reject, onError });
      archive.recorder.handler(() => undefined)(new Request("http://a/"));
      assert.equal((await archive.exchanges()).length, 1);
      await new Promise((resolve) => setTimeout(resolve, 10));
      process.off("unhandledRejection", onRejection);
      assert.deepEqual(messages, ["keep returned a promise, so the exchange was recorded"]);
      assert.deepEqual(rejected, []);
    },
  },
  {
    name: "an answer whose then throws when it is asked for",
    async run() {
      await using archive = newArchive();
      const get = (): never => {
        throw new Error("then");
      };
      const answer = new Proxy({}, { get });
      assert.equal(archive.recorder.handler(() => answer)(new Request("http://a/")), answer);
      assert.equal((await archive.exchanges()).length, 1);
    },
  },
  {
    name: "a POST by HTTP/2, without Content-Length",
    async run() {
      await using archive = newArchive();
      const warnings: Error[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning);
      process.on("warning", onWarning);
      const server = createServer((request, response) => {
        response.setHeader("content-type", "application/json");
        request.pipe(response);
      });
      archive.recorder.attach(server as unknown as Server);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        assert.equal(await postByHttp2((server.address() as AddressInfo).port, "[123]"), "[123]");
        await until(() => archive.recorder.stats().open === 0);
      } finally {
        server.close();
      }
      const { ended, request, response } = only(await archive.exchanges());
      const body = { size: 5, type: "application/json", text: "[123]" };
      assert.deepEqual([ended, request.body, response?.body], [undefined, body, body]);
      assert.deepEqual([request.http, response?.reason], ["2.0", undefined]);
      process.off("warning", onWarning);
      assert.deepEqual(warnings, []);
    },
  },
  {
    name: "uploads do not run in the asynchronous context of a request",
    async run() {
      const context = new AsyncLocalStorage<string>();
      const store = memory();
      const found: (string | undefined)[] = [];
      const put: typeof store.put = (...given) => {
        found.push(context.getStore());
        return store.put(...given);
      };
      await using archive = newArchive({ backend: { ...store, put }, limits: { segmentMs: 10 } });
      const listeners: Listener[] = [
        (_, response) => context.run("run", () => setTimeout(() => response.end(), 5)),
        (_, response) => {
          context.enterWith("entered");
          response.end();
        },
      ];
      for (const [i, listener] of listeners.entries()) {
        await withServer(
          listener,
          (server) => archive.recorder.attach(server),
          (port) => exchangeBytes(port, GET),
        );
        await until(() => archive.recorder.stats().uploaded === i + 1);
      }
      await context.run("flush", async () => {
        archive.recorder.handler(() => undefined)(new Request("http://a/"));
        await archive.recorder.flush();
      });
      assert.deepEqual(found, [undefined, undefined, undefined]);
    },
  },
  {
    name: "a relative spool stays where it was when the working directory changes",
    async run() {
      const folder = mkdtempSync(join(tmpdir(), "idk-recorder-directory-"));
      const before = process.cwd();
      try {
        process.chdir(folder);
        await using archive = newArchive({ spool: "spool" });
        process.chdir(before);
        archive.recorder.handler(() => undefined)(new Request("http://a/"));
        assert.equal((await archive.exchanges()).length, 1);
        assert.ok(existsSync(join(folder, "spool")));
      } finally {
        process.chdir(before);
        rmSync(folder, { recursive: true });
      }
    },
  },
];
