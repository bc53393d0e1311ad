import { expect, spyOn, test } from "bun:test";
import { memory } from "@idk/storage/memory";
import { createRecorder, type RecorderOptions } from "../src/index.ts";
import { createWorkQueue } from "../src/queue/work-queue.ts";
import { identity, newArchive, segmentsIn } from "./support/archive.ts";
import { expectBalanced } from "./support/totals.ts";
import { until } from "./support/until.ts";

const TEXT = { headers: { "content-type": "text/plain" } };
const answerWith = (body: string) => () => new Response(body, TEXT);

test("keep decides at the end of each exchange, and sees it before redaction", async () => {
  const seen: unknown[] = [];
  await using archive = newArchive({
    keep: (exchange) => {
      seen.push(exchange);
      return exchange.status >= 400;
    },
  });
  const handle = archive.recorder.handler(
    (request: Request) =>
      new Response("nope", { ...TEXT, status: request.url.endsWith("/bad") ? 500 : 200 }),
  );
  for (const path of ["good", "bad", "good"]) {
    await handle(new Request(`http://a/${path}`)).text();
  }
  const exchanges = await archive.exchanges();
  expect(exchanges.map(({ request }) => request.url)).toEqual(["/bad"]);
  expect(archive.recorder.stats()).toMatchObject({ seen: 3, stored: 1, notKept: 2 });
  expectBalanced(archive.recorder.stats());
  expect(seen[1]).toMatchObject({
    direction: "in",
    method: "GET",
    url: "/bad",
    status: 500,
    requestBytes: 0,
    responseBytes: 4,
  });
});

test("a keep that throws keeps, and its error is not passed on", async () => {
  const errors: Error[] = [];
  await using archive = newArchive({
    keep: () => {
      throw new Error("canary-in-keep");
    },
    onError: (error) => {
      errors.push(error);
      throw new Error("and the handler of errors throws");
    },
  });
  const handle = archive.recorder.handler(answerWith("a"));
  await handle(new Request("http://a/")).text();
  expect(await archive.exchanges()).toHaveLength(1);
  expect(errors.map(({ message }) => message)).toEqual([
    "keep threw, so the exchange was recorded",
  ]);
  expect(errors[0]!.cause).toBeUndefined();
});

test("a keep and a handler of errors that reject are not passed on", async () => {
  const rejected: unknown[] = [];
  const onRejection = (error: unknown): void => void rejected.push(error);
  process.on("unhandledRejection", onRejection);
  const messages: string[] = [];
  const reject = async (message: string): Promise<never> => {
    messages.push(message);
    throw new Error(message);
  };
  await using archive = newArchive({
    keep: (() => reject("in keep")) as unknown as () => boolean,
    onError: (({ message }: Error) => reject(message)) as unknown as () => void,
  });
  const handle = archive.recorder.handler(answerWith("a"));
  await handle(new Request("http://a/")).text();
  expect(await archive.exchanges()).toHaveLength(1);
  await Bun.sleep(10);
  process.off("unhandledRejection", onRejection);
  expect(messages).toEqual(["in keep", "keep returned a promise, so the exchange was recorded"]);
  expect(rejected).toEqual([]);
});

test("a record that cannot be redacted is dropped and counted", async () => {
  const errors: Error[] = [];
  await using archive = newArchive({ onError: (error) => errors.push(error) });
  const handle = archive.recorder.handler(answerWith("a"));
  const broken = spyOn(Date.prototype, "toISOString").mockImplementationOnce(() => {
    throw new Error("canary");
  });
  for (let i = 0; i < 2; i++) await handle(new Request("http://a/")).text();
  expect(await archive.exchanges()).toHaveLength(1);
  broken.mockRestore();
  const stats = archive.recorder.stats();
  expect(stats).toMatchObject({ seen: 2, stored: 1, dropped: { redact: 1 }, queuedBytes: 0 });
  expectBalanced(stats);
  expect(errors.map(({ cause, message }) => [message, cause])).toEqual([
    ["redaction failed, and the record was dropped", undefined],
  ]);
});

test("beyond the limit of queued bytes, bodies are dropped first, and then records", async () => {
  const KIB = 1024;
  await using archive = newArchive({ limits: { queueBytes: 256 * KIB }, onError: () => {} });
  const { recorder } = archive;
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  /** Holds 60 KiB of its request while it is open. */
  const handle = recorder.handler(async (request: Request) => {
    await request.text();
    await gate;
    return new Response(null, { status: 204 });
  });
  const post = (bytes: number): Promise<Response> =>
    handle(
      new Request("http://a/", {
        method: "POST",
        body: "x".repeat(bytes),
        headers: { "content-type": "text/plain", "content-length": String(bytes) },
      }),
    );
  const withBodies = Array.from({ length: 6 }, () => post(60 * KIB));
  await Bun.sleep(20);
  expect(recorder.stats().queuedBytes).toBeLessThanOrEqual(256 * KIB);
  const small = Array.from({ length: 200 }, () => post(0));
  await Bun.sleep(20);
  const { dropped, queuedBytes } = recorder.stats();
  expect(queuedBytes).toBeLessThanOrEqual(256 * KIB);
  expect(dropped.queue).toBeGreaterThan(0);
  release();
  await Promise.all([...withBodies, ...small]);
  const exchanges = await archive.exchanges();
  const omitted = exchanges.filter(({ request }) => request.body?.why === "queue");
  expect(omitted.length).toBeGreaterThan(0);
  expect(recorder.stats()).toMatchObject({
    bodiesDropped: omitted.length,
    stored: exchanges.length,
    queuedBytes: 0,
    dropped: { queue: 206 - exchanges.length },
  });
});

test("a body that is over the limit is not held, whatever the application sends", async () => {
  await using archive = newArchive({ limits: { bodyBytes: 0 } });
  const handle = archive.recorder.handler(answerWith("12345"));
  await handle(new Request("http://a/")).text();
  const [exchange] = await archive.exchanges();
  expect(exchange?.response?.body).toEqual({ size: 5, type: "text/plain", why: "limit" });
});

test("the event loop has its turn after a few milliseconds of work", async () => {
  const busy = (ms: number): void => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  const queue = createWorkQueue<number>(2, function* (steps) {
    for (let i = 0; i < steps; i++) {
      busy(0.2);
      yield;
    }
  });
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  let done = false;
  setImmediate(turn);
  for (let i = 0; i < 50; i++) queue.push(10);
  await queue.drained();
  done = true;
  // 100 ms of work, 2 ms at a time, with room for a step that takes long.
  expect(turns).toBeGreaterThan(20);
});

test("clocks that jump change neither durations nor the order of segments", async () => {
  const store = memory();
  await using archive = newArchive({ backend: store, limits: { segmentMs: 20 } });
  const handle = archive.recorder.handler(answerWith("a"));
  const real = Date.now;
  let stored = 0;
  for (const jump of [0, 3_600_000, -7_200_000]) {
    const clock = spyOn(Date, "now").mockImplementation(() => real() + jump);
    await handle(new Request("http://a/")).text();
    clock.mockRestore();
    stored += 1;
    await until(() => archive.recorder.stats().stored === stored);
  }
  await archive.recorder.close();
  const segments = await segmentsIn(store);
  const withLines = segments.filter(({ metadata }) => metadata.count > 0);
  expect(withLines.map(({ metadata }) => metadata.count)).toEqual([1, 1, 1]);
  for (const { metadata, text } of withLines) {
    const { ms } = JSON.parse(text) as { ms: number };
    expect(ms).toBeGreaterThanOrEqual(0);
    expect(ms).toBeLessThan(1000);
    expect(metadata.from).toBeLessThanOrEqual(metadata.to);
  }
});

test("segments are sealed by time, name the one before, and count without gaps", async () => {
  const store = memory();
  await using archive = newArchive({ backend: store, limits: { segmentMs: 10 } });
  const handle = archive.recorder.handler(answerWith("a"));
  for (let i = 0; i < 3; i++) {
    await handle(new Request("http://a/")).text();
    await until(() => archive.recorder.stats().stored === i + 1);
  }
  await archive.recorder.close();
  const addresses: string[] = [];
  const segments = await segmentsIn(store);
  for await (const { name } of store.list("")) addresses.push(name);
  expect(segments.map(({ metadata }) => metadata.seq)).toEqual([0, 1, 2, 3]);
  expect(segments.map(({ metadata }) => metadata.end)).toEqual([
    undefined,
    undefined,
    undefined,
    "closed",
  ]);
  expect(segments[0]!.metadata.prev).toBeUndefined();
  const named = segments.slice(1).map(({ metadata }) => metadata.prev!);
  expect(new Set(named).size).toBe(3);
  for (const address of named) expect(addresses).toContain(address);
});

const valid: RecorderOptions = {
  backend: memory(),
  recipients: [identity.recipient],
  spool: "/dev/null/spool",
};
test.each([
  ["no options", undefined, "options must be an object"],
  ["no backend", { ...valid, backend: undefined }, "backend must be a backend"],
  ["no recipients", { ...valid, recipients: [] }, "at least one recipient"],
  ["a wrong recipient", { ...valid, recipients: ["idk1"] }, "recipient"],
  ["no spool", { ...valid, spool: "" }, "spool must be the path of a folder"],
  ["an unknown limit", { ...valid, limits: { bodies: 1 } }, 'there is no limit "bodies"'],
  ["a wrong limit", { ...valid, limits: { segmentBytes: 1 } }, "from 65536 to 1048576"],
  ["a short key", { ...valid, hashKey: new Uint8Array(3) }, "32 bytes or more"],
  ["a wrong rule", { ...valid, redact: [{ action: "mask" }] }, ""],
  ["a wrong keep", { ...valid, keep: true }, "keep must be a function"],
  ["another compression", { ...valid, compression: "lz4" }, '"none" or "zstd"'],
])("wrong options are rejected at the start: %s", (_, options, message) => {
  expect(() => createRecorder(options as RecorderOptions)).toThrow(message);
});
