import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { CapturedExchange } from "../../src/capture/capture.ts";
import { createCapture } from "../../src/capture/create-capture.ts";
import { attachToServer } from "../../src/capture/node.ts";
import { type FetchFunction, recordFetch } from "../../src/capture/outbound.ts";
import { recordHandler } from "../../src/capture/web.ts";
import { createBudget } from "../../src/queue/budget.ts";
import { createCounters } from "../../src/queue/counters.ts";
import type { Pipeline } from "../../src/queue/pipeline.ts";
import { createWorkQueue } from "../../src/queue/work-queue.ts";
import { until } from "../support/until.ts";
import { onBun } from "./outbound-scenarios.ts";
import { exchangeBytes, type Scenario, withServer } from "./raw.ts";

const COUNT = 30;

function collect(): void {
  if (onBun) {
    Bun.gc(true);
    return;
  }
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Most of the objects are collected: a stack may still hold a few by chance. */
async function expectCollected(refs: readonly WeakRef<object>[]): Promise<void> {
  assert.ok(refs.length >= COUNT);
  let left = refs.length;
  for (let i = 0; i < 20 && left > COUNT / 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
    left = refs.filter((ref) => ref.deref() !== undefined).length;
  }
  assert.ok(left <= COUNT / 3, `${left} of ${refs.length} are left`);
}

/** A capture whose exchanges stay queued. */
function queuedCapture(queueBytes = 2 ** 25) {
  const queued: CapturedExchange[] = [];
  const budget = createBudget(queueBytes);
  const counters = createCounters();
  const pipeline: Pick<Pipeline, "budget" | "counters" | "faults" | "push"> = {
    budget,
    counters,
    faults: { count: () => 0, report: (message) => assert.fail(message) },
    push: (exchange) => queued.push(exchange),
  };
  const capture = createCapture({}, { bodyBytes: 1000 }, pipeline as Pipeline);
  return { budget, capture, counters, queued };
}

/** What queued exchanges keep in memory; run on Bun and on Node. */
export const memoryScenarios: readonly Scenario[] = [
  {
    name: "queued exchanges of a server do not keep its requests and responses in memory",
    async run() {
      const { capture, queued } = queuedCapture();
      const refs: WeakRef<object>[] = [];
      await withServer(
        (request, response) => {
          const body = { parsed: "x".repeat(1000) };
          Object.assign(request, { body });
          refs.push(new WeakRef(request), new WeakRef(response), new WeakRef(body));
          request.resume();
          request.on("end", () => response.end("{}"));
        },
        (server) => attachToServer(server, capture),
        async (port) => {
          for (let i = 0; i < COUNT; i++) {
            const head =
              "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\n";
            await exchangeBytes(port, `${head}abc`);
          }
          await until(() => queued.length === COUNT);
          await expectCollected(refs);
        },
      );
      assert.equal(queued.length, COUNT);
    },
  },
  {
    name: "queued exchanges of a web handler do not keep its requests and responses in memory",
    async run() {
      const { capture, queued } = queuedCapture();
      const refs: WeakRef<object>[] = [];
      const handle = recordHandler(async (request: Request) => {
        await request.text();
        const response = new Response("x", { headers: { "content-type": "text/plain" } });
        refs.push(new WeakRef(request), new WeakRef(response));
        return response;
      }, capture);
      const call = async (): Promise<void> => {
        const headers = { "content-length": "3" };
        const init = { method: "POST", body: "abc", headers };
        await (await handle(new Request("http://a/", init))).text();
      };
      for (let i = 0; i < COUNT; i++) await call();
      await until(() => queued.length === COUNT);
      await expectCollected(refs);
      assert.equal(queued.length, COUNT);
    },
  },
  {
    name: "open and queued exchanges of fetch do not keep what is sent in memory",
    async run() {
      const { capture, queued } = queuedCapture();
      const refs: WeakRef<object>[] = [];
      const responses: Response[] = [];
      const fetch = recordFetch<FetchFunction>(async () => new Response("x"), capture);
      const call = async (): Promise<void> => {
        const body = new Uint8Array(10_000);
        const init = { method: "POST", body };
        refs.push(new WeakRef(body), new WeakRef(init));
        responses.push(await fetch("http://a/", init));
      };
      for (let i = 0; i < COUNT; i++) await call();
      await expectCollected(refs);
      for (const response of responses) await response.text();
      responses.length = 0;
      assert.equal(queued.length, COUNT);
    },
  },
  {
    name: "a response stays in memory as long as its stream is being read",
    async run() {
      const { capture, queued } = queuedCapture();
      const fetch = recordFetch<FetchFunction>(async () => new Response("x"), capture);
      const refs: WeakRef<object>[] = [];
      const call = async (): Promise<ReadableStreamDefaultReader> => {
        const response = await fetch("http://a/");
        refs.push(new WeakRef(response));
        return response.body!.getReader();
      };
      const readers: ReadableStreamDefaultReader[] = [];
      for (let i = 0; i < COUNT; i++) readers.push(await call());
      for (let i = 0; i < 10; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        collect();
      }
      for (const reader of readers) while (!(await reader.read()).done);
      readers.length = 0;
      assert.equal(queued.length, COUNT);
      for (const { ended } of queued) assert.equal(ended, undefined);
      await expectCollected(refs);
    },
  },
  {
    name: "items that are done do not stay in memory while the queue is not empty",
    async run() {
      const refs: WeakRef<object>[] = [];
      let open = false;
      const queue = createWorkQueue<{ readonly last: boolean }>(1, function* ({ last }) {
        while (last && !open) yield;
      });
      for (let i = 0; i <= COUNT; i++) {
        const item = { last: i === COUNT };
        if (!item.last) refs.push(new WeakRef(item));
        queue.push(item);
      }
      await expectCollected(refs);
      open = true;
      await queue.drained();
    },
  },
  {
    name: "the headers of responses are taken from the budget",
    async run() {
      const { budget, capture, counters, queued } = queuedCapture(100_000);
      const headers = { "x-a": "y".repeat(5000) };
      const handle = recordHandler(() => new Response(null, { status: 204, headers }), capture);
      for (let i = 0; i < 30; i++) handle(new Request("http://a/"));
      await until(() => counters.open === 0);
      assert.ok(budget.used() <= 100_000 && budget.used() >= queued.length * 10_000);
      assert.ok(queued.length > 0 && queued.length < 10, String(queued.length));
      assert.equal(queued.length + (counters.dropped.queue ?? 0), counters.seen);
      assert.equal(
        budget.used(),
        queued.reduce((sum, { reserved }) => sum + reserved, 0),
      );
    },
  },
];
