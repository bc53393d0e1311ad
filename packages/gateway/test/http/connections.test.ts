import { describe, expect, test } from "bun:test";
import { closed, ok, SCHEMES, startServer } from "./support.ts";

const ONE = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const LAST = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
/** Connections beyond the maximum that this machine has. */
const RESERVE = 16;

describe.each(SCHEMES)("connections over %s", (scheme) => {
  test("beyond the maximum are closed, strangers first, and delay nobody", async () => {
    const { connect, send, server } = await startServer(
      async (exchange) => {
        if (exchange.raw.target === "/signed") exchange.authenticated();
        await ok(exchange);
      },
      { scheme, maxConnections: 20 },
    );
    const first = connect();
    const known = new Promise((resolve) => {
      first.once("data", resolve);
    });
    first.write("GET /signed HTTP/1.1\r\nHost: h\r\n\r\n");
    await known;
    let ended = 0;
    for (let index = 0; index < 500; index += 1) {
      connect().on("close", () => {
        ended += 1;
      });
    }
    const started = performance.now();
    const answer = new Promise<string>((resolve) => {
      first.once("data", (data: Uint8Array) => resolve(Buffer.from(data).toString()));
    });
    first.write(ONE);
    expect(await answer).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(performance.now() - started).toBeLessThan(20_000);
    while (ended < 450) await Bun.sleep(10);
    expect(server.refused()).toBeGreaterThan(450);
    // All are idle now but this one, which is new.
    expect(await send(LAST)).toEndWith("done");
    expect(first.destroyed).toBe(false);
  });

  test("of strangers are closed for a new one also before their requests end", async () => {
    const { connect, send, server } = await startServer(
      async (exchange) => {
        if (exchange.raw.target === "/never") await new Promise(() => {});
        await ok(exchange);
      },
      { scheme, maxConnections: 1 },
    );
    for (const head of [
      // Answered, and then lingers for two seconds.
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n0123456789",
      "GET /never HTTP/1.1\r\nHost: h\r\n\r\n",
    ]) {
      const strangers = Array.from({ length: 1 + RESERVE }, connect);
      for (const socket of strangers) socket.resume().write(head);
      while (server.running() < 1 + RESERVE) await Bun.sleep(10);
      expect(await send(LAST)).toEndWith("done");
      for (const socket of strangers) socket.destroy();
      if (head.startsWith("PUT")) while (server.running() > 0) await Bun.sleep(10);
    }
  });

  test("that are all busy with known clients are kept, and new ones are closed", async () => {
    const release = Promise.withResolvers<void>();
    const { send, server } = await startServer(
      async (exchange) => {
        exchange.authenticated();
        await release.promise;
        await ok(exchange);
      },
      { scheme, maxConnections: 1 },
    );
    const busy = Array.from({ length: 1 + RESERVE }, async () => send(LAST));
    while (server.running() < 1 + RESERVE) await Bun.sleep(10);
    expect(await send(LAST)).toBe("");
    release.resolve();
    for (const answer of await Promise.all(busy)) expect(answer).toEndWith("done");
  });

  test("run one request after another, and are closed with too many", async () => {
    let [running, most, count] = [0, 0, 0];
    const { send, server } = await startServer(
      async (exchange) => {
        running += 1;
        count += 1;
        most = Math.max(most, running);
        await Bun.sleep(5);
        await ok(exchange);
        running -= 1;
      },
      { scheme },
    );
    const answers = await send(ONE.repeat(9) + LAST);
    expect(answers.match(/HTTP\/1\.1 200 OK/gu)).toHaveLength(10);
    expect([count, most]).toEqual([10, 1]);
    await send(ONE.repeat(1000));
    expect(most).toBe(1);
    expect(count).toBeLessThan(40);
    while (server.queued() > 0) await Bun.sleep(5);
  });

  test("are closed in time if they are silent, trickle headers, or are idle", async () => {
    const { connect } = await startServer(
      async (exchange) => {
        if (exchange.raw.target === "/signed") exchange.authenticated();
        await ok(exchange);
      },
      { scheme, idle: { newMs: 400, strangerMs: 200, knownMs: 3000 } },
    );
    const lifetime = async (text: string, more = ""): Promise<number> => {
      const socket = connect();
      socket.resume();
      socket.write(text);
      const timer = setInterval(() => more !== "" && socket.write(more), 50);
      const elapsed = await closed(socket);
      clearInterval(timer);
      return elapsed;
    };
    const [silent, trickling, stranger, known] = await Promise.all([
      lifetime(""),
      lifetime("GET / HTTP/1.1\r\nHost: h\r\nA: ", "a"),
      lifetime(ONE),
      lifetime("GET /signed HTTP/1.1\r\nHost: h\r\n\r\n"),
    ]);
    for (const elapsed of [silent, trickling]) expect(elapsed).toBeWithin(300, 20_000);
    expect(stranger).toBeWithin(150, 20_000);
    expect(known).toBeWithin(2900, 20_000);
    expect(known).toBeGreaterThan(Math.max(silent, trickling, stranger) + 300);
  });

  test("end when the server closes, after the request in progress", async () => {
    const { send, server } = await startServer(
      async (exchange) => {
        await Bun.sleep(300);
        await ok(exchange);
      },
      { scheme },
    );
    const idle = send(ONE);
    while (server.running() === 0) await Bun.sleep(5);
    while (server.running() > 0) await Bun.sleep(5);
    const busy = send(ONE);
    while (server.running() === 0) await Bun.sleep(5);
    const started = performance.now();
    await server.close(5000);
    expect(performance.now() - started).toBeLessThan(2000);
    expect(await busy).toEndWith("done");
    expect(await idle).toEndWith("done");
  });

  test("end in time even if a request does not", async () => {
    const { send, server } = await startServer(async () => new Promise(() => {}), { scheme });
    void send(ONE);
    while (server.running() === 0) await Bun.sleep(5);
    const started = performance.now();
    await server.close(200);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
