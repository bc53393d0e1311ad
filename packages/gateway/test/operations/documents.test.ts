import { describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Answer } from "../../src/http/connection/outgoing.ts";
import { type Budget, createBudget } from "../../src/objects/memory/budget.ts";
import { longAnswer } from "../../src/operations/answers.ts";
import { readAll, SHORT_DOCUMENT } from "../../src/operations/bodies.ts";
import type { Request } from "../../src/operations/operation.ts";
import { failureOf } from "../objects/support.ts";
import { elementsOf, keyTable, signedHeaders, startGateway } from "./running.ts";

const LENGTH = 2 * SHORT_DOCUMENT;
const EXPECTATIONS = { maxLength: LENGTH };

/** Of a client that has sent half of a body that takes memory. */
function requestOf(
  documents: Budget,
  rest: (all: Uint8Array) => AsyncIterable<Uint8Array>,
  begun = SHORT_DOCUMENT + 1,
): Pick<Request, "body" | "documents" | "accessKey" | "signal"> {
  const all = new Uint8Array(LENGTH).map((_, index) => index * 7);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield all.subarray(0, begun);
    yield* rest(all.subarray(begun));
  }
  return {
    body: () => ({
      bytes: bytes(),
      length: LENGTH,
      digests: async () => ({ md5: new Uint8Array() }),
    }),
    documents,
    accessKey: { id: "A", secret: "", buckets: [], prefixes: [], rights: [] },
    signal: new AbortController().signal,
  };
}

async function* all(rest: Uint8Array): AsyncGenerator<Uint8Array> {
  yield rest;
}

const nothing = (): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
});

async function* slowly(rest: Uint8Array): AsyncGenerator<Uint8Array> {
  for (const byte of rest) {
    await Bun.sleep(2);
    yield Uint8Array.of(byte);
  }
}

describe("a body of XML", () => {
  test("is read whole", async () => {
    const documents = createBudget(3 * LENGTH);
    const body = await readAll(requestOf(documents, all), EXPECTATIONS);
    expect(body).toEqual(new Uint8Array(LENGTH).map((_, index) => index * 7));
    expect(documents.used()).toBe(0);
  });

  test("has a time to come", async () => {
    const documents = createBudget(3 * LENGTH);
    const outcome = await failureOf(readAll(requestOf(documents, nothing), EXPECTATIONS, 50));
    expect(outcome).toMatchObject({ code: "RequestTimeout", closesConnection: true });
    expect(documents.used()).toBe(0);
  });

  test("has a time to come also while it waits for memory", async () => {
    const documents = createBudget(3 * LENGTH);
    const held = await documents.acquire({ least: 1, most: 1 });
    const outcome = await failureOf(readAll(requestOf(documents, all), EXPECTATIONS, 20));
    expect(outcome).toMatchObject({ code: "RequestTimeout" });
    held.release();
    expect([documents.used(), documents.waiting()]).toEqual([0, 0]);
  });

  test("takes no memory for what is only announced", async () => {
    const documents = createBudget(3 * LENGTH);
    const reading = readAll(requestOf(documents, nothing, SHORT_DOCUMENT), EXPECTATIONS, 50);
    await Bun.sleep(10);
    expect(documents.shares()).toBe(0);
    await failureOf(reading);
  });

  test.each([
    ["stalls", nothing, { slice: 60_000, stall: 20 }],
    ["trickles", slowly, { slice: 20, stall: 60_000 }],
  ])("loses its memory to others if it %s", async (_, rest, times) => {
    const documents = createBudget(3 * LENGTH, times);
    const slow = failureOf(readAll(requestOf(documents, rest), EXPECTATIONS));
    await Bun.sleep(5);
    expect(documents.used()).toBe(3 * LENGTH);
    expect(await readAll(requestOf(documents, all), EXPECTATIONS)).toHaveLength(LENGTH);
    expect(await slow).toMatchObject({ code: "SlowDown", closesConnection: true });
    expect(documents.used()).toBe(0);
  });
});

/** Of a request whose document is this long, in bytes. */
function answerOf(documents: Budget, text: string): Promise<Answer> {
  const request = requestOf(documents, nothing);
  return longAnswer(request, LENGTH, () => ({ status: 200, headers: { a: "b" }, body: text }));
}

function piecesOf({ body }: Answer): AsyncIterator<Uint8Array> {
  if (typeof body !== "object" || body instanceof Uint8Array) {
    throw new Error("the answer is short");
  }
  return body[Symbol.asyncIterator]();
}

describe("a long document as an answer", () => {
  const text = "é<&".repeat(LENGTH / 4);

  test("is the same bytes with their length, and gives its memory back", async () => {
    const documents = createBudget(LENGTH);
    const answer = await answerOf(documents, text);
    expect(documents.used()).toBe(LENGTH);
    expect(answer.headers).toEqual({ a: "b", "content-length": `${LENGTH}` });
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body as AsyncIterable<Uint8Array>) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe(text);
    expect(documents.used()).toBe(0);
  });

  test("gives its memory back if it is short, fails or is not sent", async () => {
    const documents = createBudget(LENGTH);
    expect((await answerOf(documents, "short")).body).toBe("short");
    const failing = longAnswer(requestOf(documents, nothing), LENGTH, () => {
      throw new Error("no such bucket");
    });
    expect((await failureOf(failing)).message).toContain("no such bucket");
    expect(documents.used()).toBe(0);
    await piecesOf(await answerOf(documents, text)).return?.();
    expect(documents.used()).toBe(0);
  });

  test("is not made before there is memory, which a client that stalls gives up", async () => {
    const documents = createBudget(LENGTH, { slice: 60_000, stall: 20 });
    const slow = piecesOf(await answerOf(documents, text));
    await slow.next();
    const usedWhenMade = await longAnswer(requestOf(documents, nothing), LENGTH, () => ({
      status: 200,
      headers: {},
      body: `${documents.used()}`,
    }));
    expect(usedWhenMade.body).toBe(`${LENGTH}`);
    expect(await failureOf(slow.next())).toMatchObject({ name: "ClientGone" });
    expect(documents.used()).toBe(0);
  });

  test("is given up on if its client takes it slowly while others wait", async () => {
    const documents = createBudget(LENGTH, { slice: 20, stall: 60_000 });
    const slow = piecesOf(await answerOf(documents, text.repeat(100)));
    const other = answerOf(documents, text);
    let turns = 0;
    const take = async (): Promise<void> => {
      for (; ; turns += 1) {
        await slow.next();
        // A piece has 64 KiB.
        await Bun.sleep(600);
      }
    };
    expect(await failureOf(take())).toMatchObject({ name: "ClientGone" });
    expect(turns).toBeLessThan(3);
    await other;
  });

  test("is not cut off if its client takes it fast enough, however long that takes", async () => {
    const documents = createBudget(LENGTH, { slice: 20, stall: 60_000 });
    const taken = piecesOf(await answerOf(documents, text.repeat(10)));
    const other = answerOf(documents, text);
    let bytes = 0;
    for (;;) {
      const { done, value } = await taken.next();
      if (done === true) break;
      bytes += value.length;
      await Bun.sleep(30);
    }
    // It was asked to give its memory back.
    expect([bytes, documents.preemptions()]).toEqual([10 * LENGTH, 1]);
    await other;
  });
});

/** Sends a request on a connection of its own, and reads no answer. */
function openRequest(url: string, text: string): Disposable & { readonly socket: Socket } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.on("connect", () => {
    // Earlier, it would have no effect.
    socket.pause();
    socket.write(text);
  });
  return { socket, [Symbol.dispose]: () => socket.destroy() };
}

function headOf(
  url: string,
  method: string,
  target: string,
  given: Record<string, string>,
  as?: string,
) {
  const { host } = new URL(url);
  const headers = { ...signedHeaders({ method, target, host, ...(as && { as }) }), ...given };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

test.each([["another key"], ["the same key"]])(
  "bodies that come slowly do not stop deletions and lists with %s",
  async (who) => {
    await using running = await startGateway({}, {}, keyTable("OTHER"));
    const { gateway, send } = running;
    const given = { "content-length": `${4 * 2 ** 20}`, "content-md5": `${"A".repeat(22)}==` };
    using slow = new DisposableStack();
    let givenUp = 0;
    for (let count = 0; count < 4; count += 1) {
      const head = headOf(gateway.url, "POST", "/main?delete", given, "OTHER");
      const { socket } = slow.use(openRequest(gateway.url, head + " ".repeat(SHORT_DOCUMENT + 1)));
      socket.on("connect", () => socket.resume());
      socket.once("data", () => {
        givenUp += 1;
      });
      const timer = setInterval(() => {
        if (!socket.destroyed) socket.write(" ");
      }, 100);
      slow.defer(() => clearInterval(timer));
    }
    const began = performance.now();
    while (givenUp === 0) await Bun.sleep(10);
    // It had memory, for which others of its key waited. They wait for 30 s at most.
    expect(performance.now() - began).toBeLessThan(20_000);
    const isOther = who === "another key";
    // No time passes in which one could be given up on.
    if (isOther) slow.use(spyOn(performance, "now").mockReturnValue(performance.now()));
    const body = `<Delete><Object><Key>k</Key></Object>${" ".repeat(LENGTH)}</Delete>`;
    const headers = { "content-md5": createHash("md5").update(body).digest("base64") };
    const as = isOther ? {} : { as: "OTHER" };
    const deleted = await send("POST", "/main?delete", { headers, body, ...as });
    const listed = await send("GET", "/main?list-type=2", as);
    expect([deleted.status, listed.status]).toEqual([200, 200]);
    // The second of the slow ones has the memory; only those with its key wait for it.
    if (isOther) expect(givenUp).toBeLessThan(3);
    else expect(givenUp).toBeGreaterThan(1);
  },
  120_000,
);

/** Mebibytes that a gateway may take. */
const TARGET = 384;
/** Connections, and lists on each: the operating system takes one or two. */
const UNREAD = 60;
const IN_A_ROW = 5;

test("lists that nobody reads take a bounded amount of memory", async () => {
  const peak = { mib: 0 };
  const started = Promise.withResolvers<string>();
  await using child = Bun.spawn([process.execPath, join(import.meta.dir, "long-lists.ts")], {
    env: { ...process.env, CREDENTIALS: `${keyTable("AKIATEST")}${keyTable("OTHER")}` },
    stdin: "pipe",
    stdout: "inherit",
    ipc: (message: { readonly url?: string; readonly mib: number }) => {
      if (message.url !== undefined) started.resolve(message.url);
      peak.mib = Math.max(peak.mib, message.mib);
    },
  });
  const url = await started.promise;
  using unread = new DisposableStack();
  for (let count = 0; count < UNREAD; count += 1) {
    unread.use(openRequest(url, headOf(url, "GET", "/long?list-type=2", {}).repeat(IN_A_ROW)));
  }
  for (let tries = 0; tries < 80 && peak.mib <= TARGET; tries += 1) await Bun.sleep(100);
  expect(peak.mib).toBeLessThanOrEqual(TARGET);
  // Another key's is whole.
  const headers = signedHeaders({
    method: "GET",
    target: "/long?list-type=2",
    host: new URL(url).host,
    as: "OTHER",
  });
  const answer = await fetch(`${url}/long?list-type=2`, { headers });
  const text = await answer.text();
  expect(elementsOf(text, "Key")).toHaveLength(1000);
  expect(answer.headers.get("content-length")).toBe(`${Buffer.byteLength(text)}`);
  void child.stdin.end();
  await child.exited;
}, 120_000);
