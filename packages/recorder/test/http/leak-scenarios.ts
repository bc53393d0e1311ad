import assert from "node:assert/strict";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { RecorderOptions } from "../../src/index.ts";
import { type Archive, newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";
import { type Listener, open, type Scenario, withServer } from "./raw.ts";

/** After a flush: no exchange is open, and no byte of the budget is taken. */
export function expectNothingHeld({ recorder }: Archive): void {
  const { open: opened, queued, queuedBytes } = recorder.stats();
  assert.deepEqual({ opened, queued, queuedBytes }, { opened: 0, queued: 0, queuedBytes: 0 });
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n";

/** Serves clients, and expects that nothing of them stays. */
async function leavesNothing(
  listener: Listener,
  client: (port: number, archive: Archive) => Promise<void>,
  options: Partial<RecorderOptions> = {},
): Promise<Archive> {
  await using archive = newArchive(options);
  await withServer(
    listener,
    (server) => archive.recorder.attach(server),
    async (port) => {
      await client(port, archive);
      await until(() => archive.recorder.stats().open === 0);
      await archive.exchanges();
      expectNothingHeld(archive);
    },
  );
  return archive;
}

/** Cases after which something could be held for ever, run on Bun and on Node. */
export const leakScenarios: readonly Scenario[] = [
  {
    name: "pipelined requests whose client goes away before the first answer",
    async run() {
      const listener: Listener = (_, response) => setTimeout(() => response.end("x"), 100);
      const archive = await leavesNothing(listener, async (port, { recorder }) => {
        const { socket } = open(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20));
        await until(() => recorder.stats().seen > 0);
        await sleep(20);
        socket.destroy();
        await sleep(200);
      });
      assert.ok(archive.recorder.stats().seen > 0);
    },
  },
  {
    name: "a request that is injected, without a connection",
    async run() {
      await using archive = newArchive();
      const server = createServer((_, response) => response.end());
      archive.recorder.attach(server);
      const request = new IncomingMessage(undefined as unknown as Socket);
      request.method = "GET";
      const response = new ServerResponse(request);
      server.emit("request", request, response);
      response.emit("close");
      assert.equal((await archive.exchanges()).length, 1);
      expectNothingHeld(archive);
      assert.equal(archive.recorder.stats().faults, 0);
    },
  },
  {
    name: "an upload that goes on after it was answered",
    async run() {
      const listener: Listener = (request, response) => {
        request.on("error", () => {});
        request.resume();
        response.writeHead(413);
        response.end("no");
      };
      for (const [keep, early] of [
        [true, "beginning"],
        [true, ""],
        [false, "beginning"],
      ] as const) {
        await leavesNothing(
          listener,
          async (port, { recorder }) => {
            const head = `${POST}Content-Length: 20000\r\n\r\n${early}`;
            const connection = open(port, head);
            await connection.until("no");
            await until(() => recorder.stats().open === 0);
            await recorder.flush();
            for (let i = 0; i < 4; i++) {
              connection.socket.write("x".repeat(1000));
              await sleep(10);
            }
            connection.socket.destroy();
          },
          { keep: () => keep },
        );
      }
    },
  },
  {
    name: "a response that is written after its client went away",
    async run() {
      const listener: Listener = async (_, response) => {
        response.on("error", () => {});
        for (let i = 0; i < 20; i++) {
          response.write("x".repeat(1000));
          await sleep(5);
        }
        response.end();
      };
      await leavesNothing(listener, async (port) => {
        const connection = open(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        await connection.until("xxx");
        connection.socket.destroy();
        await sleep(200);
      });
    },
  },
  {
    name: "a web request that is read after its answer",
    async run() {
      await using archive = newArchive();
      let read: Promise<string> | undefined;
      const handle = archive.recorder.handler((request: Request) => {
        read = sleep(50).then(() => request.text());
        return new Response(null, { status: 204 });
      });
      const headers = { "content-length": "3", "content-type": "text/plain" };
      handle(new Request("http://a/", { method: "POST", body: "abc", headers }));
      await archive.exchanges();
      assert.equal(await read, "abc");
      expectNothingHeld(archive);
    },
  },
  {
    name: "a body in chunks of one byte takes no more memory than the budget counts",
    async run() {
      const { BodyCopy } = await import("../../src/capture/body-copy.ts");
      const { createBudget } = await import("../../src/queue/budget.ts");
      const budget = createBudget(1 << 20);
      const copy = new BodyCopy(10_000, budget);
      for (let i = 0; i < 9000; i++) copy.addBytes(Uint8Array.of(i & 0x7f));
      copy.addText("é".repeat(600));
      assert.deepEqual([copy.size, copy.held, copy.bytes.length], [10_200, 10_000, 10_000]);
      assert.equal(copy.bytes.buffer.byteLength, budget.used());
      assert.equal(copy.bytes.toString("utf8", 9000), "é".repeat(500));
      copy.release();
      copy.addText("late");
      assert.deepEqual([budget.used(), copy.held, copy.size], [0, 0, 10_204]);
    },
  },
];
