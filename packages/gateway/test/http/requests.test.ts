import { describe, expect, test } from "bun:test";
import type { Exchange } from "../../src/http/connection/exchange.ts";
import { closed, ok, readAll, SCHEMES, startServer, type TestServer } from "./support.ts";

describe.each(SCHEMES)("over %s", (scheme) => {
  const start = async (handle: (exchange: Exchange) => Promise<void>): Promise<TestServer> =>
    startServer(handle, { scheme });

  test("a request reaches the handler as it was sent", async () => {
    const seen: Exchange["raw"][] = [];
    const { send } = await start(async (exchange) => {
      seen.push(exchange.raw);
      await ok(exchange);
    });
    await send(
      "GET //b/../%2F/./a?x=%20&y HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: \xC3\xA9\r\nConnection: close\r\n\r\n",
    );
    expect(seen).toEqual([
      {
        method: "GET",
        target: "//b/../%2F/./a?x=%20&y",
        rawHeaders: ["Host", "h", "X-A", "1", "x-a", "\xC3\xA9", "Connection", "close"],
      },
    ]);
  });

  test("a client is told to continue only when its body is read", async () => {
    const { send } = await start(async (exchange) => {
      if (exchange.raw.target === "/read") await readAll(exchange);
      await ok(exchange);
    });
    const head =
      "Host: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
    expect(await send(`PUT /read HTTP/1.1\r\n${head}`, 50, "abc")).toStartWith(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    );
    const refused = await send(`PUT /no HTTP/1.1\r\n${head}`);
    expect(refused).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(refused.toLowerCase()).toContain("connection: close\r\n");
  });

  test("a request whose body nobody reads gets its answer while it is still sent", async () => {
    const { connect } = await start(ok);
    const socket = connect();
    let received = "";
    let isClosed = false;
    socket.on("close", () => {
      isClosed = true;
    });
    socket.on("data", (data: Uint8Array) => {
      received += Buffer.from(data).toString();
    });
    socket.write("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
    for (let index = 0; index < 9; index += 1) {
      socket.write("x".repeat(100_000));
      await Bun.sleep(20);
    }
    // A server that closes at once may reset the connection before the client has read the answer.
    expect(isClosed).toBe(false);
    expect(received).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(received).toEndWith("done");
  });

  test.each([
    [
      "two lengths",
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    ],
    [
      "a length and chunks",
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a coding besides chunks",
      "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ],
    ["a length with a sign", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc"],
    ["a folded header", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n"],
    ["a blank before a colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n"],
    ["bare line feeds", "GET / HTTP/1.1\nHost: h\n\n"],
  ])("a request with %s is refused", async (_, text) => {
    let count = 0;
    const { send } = await start(async (exchange) => {
      count += 1;
      await ok(exchange);
    });
    const answer = await send(text);
    expect(answer).toStartWith("HTTP/1.1 400 Bad Request\r\n");
    expect(count).toBe(0);
  });

  test("a request with too many headers is refused", async () => {
    const { send } = await start(ok);
    const headers = `X-A: ${"x".repeat(40_000)}`;
    expect(await send(`GET / HTTP/1.1\r\nHost: h\r\n${headers}\r\n\r\n`)).toStartWith(
      "HTTP/1.1 431",
    );
  });

  test("a request without Host is refused, after the answer to the one before it", async () => {
    const { send } = await startServer(
      async (exchange) => {
        async function* body(): AsyncGenerator<Uint8Array> {
          yield Buffer.from("first,");
          await Bun.sleep(100);
          yield Buffer.from("second");
        }
        await exchange.send({ status: 200, headers: { "content-length": "12" }, body: body() });
      },
      { scheme },
    );
    const received = await send("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 50, "GET / HTTP/1.1\r\n\r\n");
    expect(received).toContain("\r\n\r\nfirst,secondHTTP/1.1 400 Bad Request\r\n");
    expect(received).toContain("<Code>BadRequest</Code>");
  });

  test("an answer with a header that cannot be gives back what its body has", async () => {
    const returned = Promise.withResolvers<void>();
    const { send } = await start(async (exchange) => {
      async function* body(): AsyncGenerator<Uint8Array> {
        try {
          yield new Uint8Array(1);
          yield new Uint8Array(1);
        } finally {
          returned.resolve();
        }
      }
      // As a body whose first piece was waited for.
      const iterator = body();
      await iterator.next();
      const headers = { "x-amz-meta-a": "two\nlines" };
      await exchange.send({ status: 200, headers, body: iterator }).catch(() => {});
    });
    await send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await returned.promise;
  });

  test.each([
    ["stops", [] as readonly (string | number)[]],
    ["trickles", Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? "a" : 50))],
  ])("a client that %s while it sends is given up on", async (_, texts) => {
    let code: unknown;
    let count = 0;
    const { send } = await start(async (exchange) => {
      await readAll(exchange).catch((error: unknown) => {
        code = error instanceof Error && "code" in error ? error.code : error;
        count = exchange.incoming.count();
      });
      await ok(exchange);
    });
    await send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", ...texts);
    expect(code).toBe("RequestTimeout");
    // Before all of the trickle has come, which takes two seconds.
    expect(count).toBeLessThan(40);
  });

  test("a client that takes no answer is given up on", async () => {
    const failed = Promise.withResolvers<unknown>();
    const { connect } = await start(async (exchange) => {
      async function* body(): AsyncGenerator<Uint8Array> {
        for (;;) yield new Uint8Array(256 * 1024);
      }
      await exchange.send({ status: 200, headers: {}, body: body() }).catch(failed.resolve);
    });
    const socket = connect();
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    expect(await failed.promise).toMatchObject({ name: "ClientGone" });
  });

  test("a body is read no faster than it is wanted", async () => {
    const release = Promise.withResolvers<void>();
    const { connect } = await startServer(
      async (exchange) => {
        await release.promise;
        await readAll(exchange);
        await ok(exchange);
      },
      { scheme, patience: { stallMs: 5000, minRate: 1 } },
    );
    const socket = connect();
    const answered = new Promise((resolve) => {
      socket.once("data", resolve);
    });
    const length = 64 * 2 ** 20;
    socket.write(`PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`);
    let taken = 0;
    for (; taken < length; taken += 2 ** 20) {
      const isFull = !socket.write(Buffer.alloc(2 ** 20));
      if (!isFull) continue;
      const drained = new Promise<boolean>((resolve) => {
        socket.once("drain", () => resolve(true));
      });
      if (!(await Promise.race([drained, Bun.sleep(500).then(() => false)]))) break;
    }
    // What is in flight lies in buffers of the sockets.
    expect(taken).toBeLessThan(32 * 2 ** 20);
    release.resolve();
    for (taken += 2 ** 20; taken < length; taken += 2 ** 20) socket.write(Buffer.alloc(2 ** 20));
    await answered;
  });

  test("a client that leaves ends its request", async () => {
    const left = Promise.withResolvers<void>();
    const { connect, server } = await start(async (exchange) => {
      exchange.signal.addEventListener("abort", () => left.resolve());
      await left.promise;
      await ok(exchange);
    });
    const socket = connect();
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    while (server.running() === 0) await Bun.sleep(5);
    socket.destroy();
    await left.promise;
    while (server.connections() > 0) await Bun.sleep(5);
  });

  test("a connection is kept, and ends if its client wants that", async () => {
    const { send, connect } = await start(ok);
    const one = "GET / HTTP/1.1\r\nHost: h\r\n";
    const answers = await send(
      `${one}\r\n`,
      50,
      `${one}\r\n`,
      50,
      `${one}Connection: close\r\n\r\n`,
    );
    expect(answers.match(/HTTP\/1\.1 200 OK/gu)).toHaveLength(3);
    const socket = connect();
    socket.resume();
    socket.write(`${one}Connection: close\r\n\r\n`);
    expect(await closed(socket)).toBeLessThan(2000);
  });
});
