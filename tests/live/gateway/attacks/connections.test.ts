import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "node:net";
import { s3Requests } from "../s3-requests.ts";
import { type Attacked, attackedGateway, BUCKET, CLIENT_MAX, SLOW } from "./attacked.ts";

setDefaultTimeout(180_000);

const MAX = 200;
const BEYOND = 5000;
/** What a client waits on a new connection, in ms, while the machine also runs 5,000 others. */
const WAIT_MAX = SLOW ? 2000 : CLIENT_MAX;
const TRIES = 10;
/** How soon an attacker whose connection was closed opens another: 1,700 a second in all. */
const REOPEN_MS = 3000;

let attacked: Attacked;
beforeAll(async () => {
  attacked = await attackedGateway("--max-connections", `${MAX}`);
  await attacked.requests.send("PUT", `/${BUCKET}/k`, { body: "content" });
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** Opens connections, some at a time, and opens each again as soon as it is closed, until the end. */
function flood(count: number, act: (socket: Socket) => void): { stop(): void; opened(): number } {
  let isOver = false;
  let opened = 0;
  const sockets = new Set<Socket>();
  const one = (): void => {
    if (isOver) return;
    opened += 1;
    const socket = attacked.open();
    sockets.add(socket);
    socket.on("connect", () => act(socket));
    socket.on("close", () => {
      sockets.delete(socket);
      setTimeout(one, REOPEN_MS);
    });
  };
  void (async () => {
    for (let index = 0; index < count; index += 1) {
      one();
      if (index % 250 === 249) await Bun.sleep(20);
    }
  })();
  return {
    opened: () => opened,
    stop() {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** As clients of S3 do: again after a connection that was closed, three times in all. */
async function patiently<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      if (attempt === 3) throw error;
      await Bun.sleep(100 * attempt);
    }
  }
}

test.each<readonly [string, (socket: Socket) => void]>([
  ["that say nothing", () => {}],
  ["in the middle of headers", (socket) => socket.write("GET / HTTP/1.1\r\nHost: h\r\nX-")],
  [
    "with refused requests",
    (socket) => socket.write(`GET /${BUCKET}/k HTTP/1.1\r\nHost: ${attacked.host}\r\n\r\n`),
  ],
  [
    "with refused uploads that they do not end",
    (socket) =>
      socket.write(
        `PUT /${BUCKET}/k HTTP/1.1\r\nHost: ${attacked.host}\r\nContent-Length: 10000000\r\n\r\n0123456789`,
      ),
  ],
])(`${BEYOND} connections beyond the maximum %s delay nobody`, async (_, act) => {
  const attack = flood(MAX + BEYOND, act);
  try {
    const end = performance.now() + 30_000;
    while (attack.opened() < MAX + BEYOND && performance.now() < end) await Bun.sleep(20);
    expect(attack.opened()).toBeGreaterThanOrEqual(MAX + BEYOND);
    const times: number[] = [];
    for (let index = 0; index < TRIES; index += 1) {
      // No connection that was there before.
      using requests = s3Requests(attacked.gateway, false);
      const start = performance.now();
      const { status, body } = await patiently(async () => requests.send("GET", `/${BUCKET}/k`));
      times.push(performance.now() - start);
      expect([status, body.toString()]).toEqual([200, "content"]);
      await Bun.sleep(50);
    }
    expect(Math.max(...times)).toBeLessThan(WAIT_MAX);
  } finally {
    attack.stop();
  }
  await Bun.sleep(500);
});
