import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "node:net";
import { type Attacked, attackedGateway, BUCKET, CLIENT_MAX, SLOW } from "./attacked.ts";

setDefaultTimeout(120_000);

/** How long the gateway lets a client be silent, in s. */
const STALL = 3;
const SLOW_CLIENTS = 100;
/** Of those that take memory, which is enough for seven at a time; a socket takes megabytes before they stall. */
const HUNGRY_CLIENTS = 24;
/** The gateway counts again after 1000 ms. */
const METRICS_MS = 1100;
/**
 * What a fast client may wait, in ms; and what it may once, when two dozen new clients have begun with
 * something that takes memory before it.
 */
const [WAIT_MAX, CROWD_MAX] = SLOW ? [1500, 10_000] : [CLIENT_MAX, CLIENT_MAX];

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

interface Kind {
  readonly what: string;
  /** How long it may, in s; undefined for as long as it likes. */
  readonly seconds: number | undefined;
  /** Whether it has memory before it stalls. */
  readonly takesMemory?: boolean;
  readonly act: (socket: Socket, index: number) => void;
}

/** What a slow client does with its connection. */
const KINDS: readonly Kind[] = [
  { what: "say nothing", seconds: 25, act: () => {} },
  {
    what: "send headers slowly",
    seconds: 25,
    act: (socket) => {
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n");
      trickle(socket, "X-A: b\r\n", 200);
    },
  },
  {
    what: "stop in the middle of a body",
    seconds: STALL + 4,
    takesMemory: true,
    act: (socket, index) =>
      socket.write(`${put(`body-${index}`, "content-length: 5000000")}${"x".repeat(100_000)}`),
  },
  {
    what: "send a body slowly",
    seconds: STALL + 8,
    act: (socket, index) => {
      socket.write(put(`slow-${index}`, "content-length: 5000000"));
      trickle(socket, "x", 100);
    },
  },
  {
    what: "never send the body that they announce",
    seconds: STALL + 4,
    act: (socket, index) =>
      socket.write(put(`expected-${index}`, "content-length: 5000000", "expect: 100-continue")),
  },
  {
    what: "stop in the middle of a body of XML",
    // Most wait for memory first, a few at a time.
    seconds: 40,
    act: (socket) => {
      const digest = `content-md5: ${"A".repeat(22)}==`;
      const target = `/${BUCKET}?delete`;
      const head = attacked.head({ method: "POST", target }, "content-length: 2000000", digest);
      socket.write(`${head}<Delete>`);
    },
  },
  {
    what: "take no answer",
    seconds: STALL + 6,
    takesMemory: true,
    act: (socket) => {
      socket.pause();
      socket.write(get());
    },
  },
  {
    what: "take an answer slowly",
    seconds: undefined,
    takesMemory: true,
    act: (socket) => {
      socket.pause();
      socket.write(get());
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.read(64);
      }, 100);
      socket.on("close", () => clearInterval(timer));
    },
  },
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

/** Open connections, as the gateway counts them. */
async function connections(): Promise<number> {
  const metrics = await (await fetch(`${attacked.gateway.endpoint}/metrics`)).text();
  return Number(/^idk_gateway_connections (\d+)$/mu.exec(metrics)![1]);
}

/** Connections of slow clients, which read what comes unless they say otherwise. */
function open(count: number, act: Kind["act"]): readonly Socket[] {
  return Array.from({ length: count }, (_, index) => {
    const socket = attacked.open();
    socket.resume();
    socket.on("connect", () => act(socket, index));
    return socket;
  });
}

test.each(KINDS)("clients that $what delay nobody, and are given up on", async (kind) => {
  const { seconds, takesMemory = false, act } = kind;
  const sockets = open(takesMemory ? HUNGRY_CLIENTS : SLOW_CLIENTS, act);
  const start = performance.now();
  await Bun.sleep(300);
  const times = { first: await longest(1), others: await longest(7) };
  // A client that goes on taking, however slowly, keeps asking for memory.
  const first = takesMemory ? CROWD_MAX : WAIT_MAX;
  const others = seconds === undefined ? CROWD_MAX : WAIT_MAX;
  expect(times.first).toBeLessThan(first);
  expect(times.others).toBeLessThan(others);
  if (seconds !== undefined && (SLOW || seconds < 20)) {
    const left = (): number => sockets.filter((socket) => !socket.destroyed).length;
    const end = start + 1000 * (SLOW ? seconds : seconds + 30);
    // A client that takes nothing does not see the end. Two are of the fast client and of this question.
    do await Bun.sleep(METRICS_MS);
    while ((await connections()) > 2 && performance.now() < end);
    for (const socket of sockets) socket.resume();
    for (let tries = 0; left() > 0 && tries < 30; tries += 1) await Bun.sleep(100);
    expect(left()).toBe(0);
  }
  for (const socket of sockets) socket.destroy();
});

test("all of them at once delay nobody", async () => {
  for (const { act, takesMemory = false } of KINDS) open(takesMemory ? 8 : 50, act);
  await Bun.sleep(500);
  expect(await longest(1)).toBeLessThan(CROWD_MAX);
  expect(await longest(11)).toBeLessThan(SLOW ? 2 * WAIT_MAX : CLIENT_MAX);
});

test("nothing of it was stored, and nothing was a fault of the gateway", async () => {
  expect(await attacked.keys()).toEqual(["fast", "large"]);
  const log = await attacked.stop();
  // Who waits for memory while others stall may be told to come back.
  const faults = log.filter(({ fault, code }) => fault !== undefined && code !== "SlowDown");
  expect(faults).toEqual([]);
});
