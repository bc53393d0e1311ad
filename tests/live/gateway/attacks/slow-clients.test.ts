import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "node:net";
import { type Attacked, attackedGateway, BUCKET } from "./attacked.ts";

setDefaultTimeout(120_000);

/** How long the gateway lets a client be silent, in s. */
const STALL = 3;
const SLOW_CLIENTS = 100;
/** What a fast client may wait, in ms: the machine is busy with others as well. */
const WAIT_MAX = 1500;

let attacked: Attacked;
beforeAll(async () => {
  attacked = await attackedGateway("--stall-timeout", `${STALL}`);
  await attacked.requests.send("PUT", `/${BUCKET}/large`, { body: Buffer.alloc(20 * 2 ** 20) });
});
afterAll(async () => {
  await attacked[Symbol.asyncDispose]();
});

/** Sends a text slowly, a byte at a time, until the connection ends. */
function trickle(socket: Socket, text: string, ms: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(text[at++ % text.length]!);
  }, ms);
  socket.on("close", () => clearInterval(timer));
}

const put = (key: string, ...lines: readonly string[]): string =>
  attacked.head({ method: "PUT", target: `/${BUCKET}/${key}` }, ...lines);
const get = (): string => attacked.head({ method: "GET", target: `/${BUCKET}/large` });

/** What a slow client does with its connection; and how long it may, in s. */
const KINDS: readonly (readonly [string, number, (socket: Socket, index: number) => void])[] = [
  ["say nothing", 8, () => {}],
  [
    "send headers slowly",
    25,
    (socket) => {
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n");
      trickle(socket, "X-A: b\r\n", 200);
    },
  ],
  [
    "stop in the middle of a body",
    STALL + 3,
    (socket, index) =>
      socket.write(`${put(`body-${index}`, "content-length: 5000000")}${"x".repeat(100_000)}`),
  ],
  [
    "send a body slowly",
    STALL + 8,
    (socket, index) => {
      socket.write(put(`slow-${index}`, "content-length: 5000000"));
      trickle(socket, "x", 100);
    },
  ],
  [
    "never send the body that they announce",
    STALL + 3,
    (socket, index) =>
      socket.write(put(`expected-${index}`, "content-length: 5000000", "expect: 100-continue")),
  ],
  [
    "stop in the middle of a body of XML",
    STALL + 3,
    (socket) =>
      socket.write(
        `${attacked.head({ method: "POST", target: `/${BUCKET}?delete` }, "content-length: 2000000", "content-md5: AAAAAAAAAAAAAAAAAAAAAA==")}<Delete>`,
      ),
  ],
  [
    "take no answer",
    STALL + 6,
    (socket) => {
      socket.pause();
      socket.write(get());
    },
  ],
  [
    "take an answer slowly",
    60,
    (socket) => {
      socket.pause();
      socket.write(get());
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.read(64);
      }, 100);
      socket.on("close", () => clearInterval(timer));
    },
  ],
];

/** The longest of some requests of a client that is not slow, each on a connection of its own, in ms. */
async function longest(count: number): Promise<number> {
  let most = 0;
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    const body = Buffer.alloc(index % 4 === 0 ? 2_000_000 : 4000, index);
    const put = await attacked.requests.send("PUT", `/${BUCKET}/fast`, { body });
    const got = await attacked.requests.send("GET", `/${BUCKET}/fast`);
    expect([put.status, got.status, got.body.equals(body)]).toEqual([200, 200, true]);
    most = Math.max(most, performance.now() - start);
  }
  return most;
}

test.each(KINDS)("clients that %s delay nobody, and are given up on", async (_, seconds, act) => {
  const sockets = Array.from({ length: SLOW_CLIENTS }, (_unused, index) => {
    const socket = attacked.open();
    socket.on("connect", () => act(socket, index));
    return socket;
  });
  const start = performance.now();
  await Bun.sleep(300);
  expect(await longest(8)).toBeLessThan(WAIT_MAX);
  const isOpen = (): boolean => sockets.some((socket) => !socket.destroyed);
  // A paused socket does not see its end.
  const resume = (): void => {
    for (const socket of sockets) socket.resume();
  };
  if (seconds === 60) {
    // A slow line is no attack as long as it is as fast as any line is.
    for (const socket of sockets) socket.destroy();
    return;
  }
  while (isOpen() && performance.now() - start < 1000 * seconds) {
    await Bun.sleep(100);
    if (performance.now() - start > 1000 * (STALL + 3)) resume();
  }
  expect(sockets.filter((socket) => !socket.destroyed)).toHaveLength(0);
});

test("all of them at once delay nobody", async () => {
  for (const [, , act] of KINDS) {
    for (let index = 0; index < SLOW_CLIENTS / 2; index += 1) {
      const socket = attacked.open();
      socket.on("connect", () => act(socket, 1000 + index));
    }
  }
  await Bun.sleep(500);
  expect(await longest(12)).toBeLessThan(2 * WAIT_MAX);
});

test("nothing of it was stored, and nothing was a fault of the gateway", async () => {
  expect(await attacked.keys()).toEqual(["fast", "large"]);
  const log = await attacked.gateway.log();
  expect(log.filter(({ fault }) => fault !== undefined)).toEqual([]);
});
