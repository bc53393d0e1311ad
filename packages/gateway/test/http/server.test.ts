import { afterEach, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { makeCertificate } from "../../../../tests/servers/certificate.ts";
import type { Exchange } from "../../src/http/connection/exchange.ts";
import { type HttpServer, listen } from "../../src/http/server.ts";

let server: HttpServer | undefined;
const open: Socket[] = [];

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await server?.close(0);
});

/** Starts a server whose clients may be silent for 300 ms. */
async function start(
  handle: (exchange: Exchange) => Promise<void>,
  maxConnections = 100,
): Promise<void> {
  server = await listen(
    {
      host: "127.0.0.1",
      port: 0,
      maxConnections,
      patience: { stallMs: 300, minRate: 100_000 },
    },
    handle,
  );
}

/** Sends text over a connection, and resolves with all that comes back until it ends. */
async function send(...texts: readonly (string | number)[]): Promise<string> {
  const socket = connect(Number(new URL(server!.url).port), "127.0.0.1");
  open.push(socket);
  let received = "";
  socket.on("data", (data: Uint8Array) => {
    received += Buffer.from(data).toString("latin1");
  });
  const ended = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.on("error", () => resolve());
  });
  for (const text of texts) {
    if (typeof text === "number") await Bun.sleep(text);
    else socket.write(Buffer.from(text, "latin1"));
  }
  await Promise.race([ended, Bun.sleep(4000)]);
  return received;
}

const ok = async (exchange: Exchange): Promise<void> =>
  exchange.send({ status: 200, headers: {}, body: "done" }).catch(() => {});

async function readAll({ incoming }: Exchange): Promise<number> {
  let length = 0;
  for await (const piece of incoming.bytes) length += piece.length;
  return length;
}

describe("a request", () => {
  test("reaches the handler as it was sent", async () => {
    const seen: Exchange["raw"][] = [];
    await start(async (exchange) => {
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

  test("is told to continue only when its body is read", async () => {
    await start(async (exchange) => {
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

  test("whose body nobody reads gets its answer while it is still sent", async () => {
    await start(ok);
    const socket = connect(Number(new URL(server!.url).port), "127.0.0.1");
    open.push(socket);
    let received = "";
    let isClosed = false;
    socket.on("error", () => {});
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
    ["a folded header", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n"],
    ["a blank before a colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n"],
    ["bare line feeds", "GET / HTTP/1.1\nHost: h\n\n"],
  ])("with %s is refused", async (_, text) => {
    let count = 0;
    await start(async (exchange) => {
      count += 1;
      await ok(exchange);
    });
    const answer = await send(text);
    expect(answer).toStartWith("HTTP/1.1 400 Bad Request\r\n");
    expect(count).toBe(0);
  });

  test("with too many headers is refused", async () => {
    await start(ok);
    const headers = `X-A: ${"x".repeat(40_000)}`;
    expect(await send(`GET / HTTP/1.1\r\nHost: h\r\n${headers}\r\n\r\n`)).toStartWith(
      "HTTP/1.1 431",
    );
  });
});

test("an answer with a header that cannot be gives back what its body has", async () => {
  const closed = Promise.withResolvers<void>();
  await start(async (exchange) => {
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        yield new Uint8Array(1);
        yield new Uint8Array(1);
      } finally {
        closed.resolve();
      }
    }
    // As a body whose first piece was waited for.
    const iterator = body();
    await iterator.next();
    const headers = { "x-amz-meta-a": "two\nlines" };
    await exchange.send({ status: 200, headers, body: iterator }).catch(() => {});
  });
  await send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  await closed.promise;
});

describe("a client that is too slow", () => {
  test.each([
    ["stops", [] as readonly (string | number)[]],
    ["trickles", Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? "a" : 50))],
  ])("is given up on if it %s while it sends", async (_, texts) => {
    let code: unknown;
    let elapsed = 0;
    await start(async (exchange) => {
      const started = performance.now();
      await readAll(exchange).catch((error: unknown) => {
        code = error instanceof Error && "code" in error ? error.code : error;
        elapsed = performance.now() - started;
      });
      await ok(exchange);
    });
    await send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n", ...texts);
    expect(code).toBe("RequestTimeout");
    // The trickle itself takes two seconds.
    expect(elapsed).toBeLessThan(1500);
  });

  test("is given up on if it takes no answer", async () => {
    const failed = Promise.withResolvers<unknown>();
    await start(async (exchange) => {
      async function* body(): AsyncGenerator<Uint8Array> {
        for (;;) yield new Uint8Array(256 * 1024);
      }
      await exchange.send({ status: 200, headers: {}, body: body() }).catch(failed.resolve);
    });
    const socket = connect(Number(new URL(server!.url).port), "127.0.0.1");
    open.push(socket);
    socket.pause();
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    expect(await failed.promise).toMatchObject({ name: "ClientGone" });
  });
});

describe("connections", () => {
  test("beyond the maximum are closed, strangers first, and delay nobody", async () => {
    await start(async (exchange) => {
      if (exchange.raw.target === "/signed") exchange.authenticated();
      await ok(exchange);
    }, 20);
    const port = Number(new URL(server!.url).port);
    const first = connect(port, "127.0.0.1");
    open.push(first);
    const known = new Promise((resolve) => {
      first.once("data", resolve);
    });
    first.write("GET /signed HTTP/1.1\r\nHost: h\r\n\r\n");
    await known;
    let ended = 0;
    for (let index = 0; index < 500; index += 1) {
      const socket = connect(port, "127.0.0.1");
      open.push(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        ended += 1;
      });
    }
    const started = performance.now();
    const answer = new Promise<string>((resolve) => {
      first.once("data", (data: Uint8Array) => resolve(Buffer.from(data).toString()));
    });
    first.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    expect(await answer).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(performance.now() - started).toBeLessThan(1000);
    while (ended < 450) await Bun.sleep(10);
    expect(server!.refused()).toBeGreaterThan(450);
    // All are idle now but this one, which is new.
    const begun = performance.now();
    expect(await send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")).toEndWith("done");
    expect(performance.now() - begun).toBeLessThan(1000);
  });

  test("that are all busy are kept, and new ones are closed", async () => {
    const release = Promise.withResolvers<void>();
    await start(async (exchange) => {
      await release.promise;
      await ok(exchange);
    }, 1);
    const request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    // Beyond the maximum, this machine has 16 more.
    const busy = Array.from({ length: 17 }, async () => send(request));
    while (server!.running() < 17) await Bun.sleep(10);
    expect(await send(request)).toBe("");
    release.resolve();
    for (const answer of await Promise.all(busy)) expect(answer).toEndWith("done");
  });

  test("run one request after another, and are closed with too many", async () => {
    let [running, most, count] = [0, 0, 0];
    await start(async (exchange) => {
      running += 1;
      count += 1;
      most = Math.max(most, running);
      await Bun.sleep(5);
      await ok(exchange);
      running -= 1;
    });
    const one = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const last = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    const answers = await send(one.repeat(9) + last);
    expect(answers.match(/HTTP\/1\.1 200 OK/gu)).toHaveLength(10);
    expect([count, most]).toEqual([10, 1]);
    await send(one.repeat(1000));
    expect(most).toBe(1);
    expect(count).toBeLessThan(40);
    while (server!.queued() > 0) await Bun.sleep(5);
  });

  test("are counted over TLS, too", async () => {
    const folder = await mkdtemp(join(tmpdir(), "idk-tls-"));
    await makeCertificate(folder);
    const [cert, key] = await Promise.all(
      ["public.crt", "private.key"].map(async (name) => readFile(join(folder, name))),
    );
    server = await listen(
      { host: "127.0.0.1", port: 0, maxConnections: 1, tls: { cert: cert!, key: key! } },
      ok,
    );
    const port = Number(new URL(server.url).port);
    const answers: string[] = [];
    for (let index = 0; index < 19; index += 1) {
      const socket = tlsConnect({ port, host: "127.0.0.1", rejectUnauthorized: false });
      open.push(socket);
      socket.on("error", () => {});
      socket.on("data", (data: Uint8Array) => {
        answers.push(Buffer.from(data).toString().slice(0, 15));
      });
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      await Bun.sleep(50);
    }
    // Idle ones make room. Beyond the maximum, this machine has 16 more.
    expect(answers).toEqual(Array.from({ length: 19 }, () => "HTTP/1.1 200 OK"));
    expect([server.connections(), server.refused()]).toEqual([17, 2]);
    await rm(folder, { recursive: true });
  });

  test("that are never encrypted are closed soon", async () => {
    const folder = await mkdtemp(join(tmpdir(), "idk-tls-"));
    await makeCertificate(folder);
    const [cert, key] = await Promise.all(
      ["public.crt", "private.key"].map(async (name) => readFile(join(folder, name))),
    );
    const tls = { cert: cert!, key: key! };
    server = await listen({ host: "127.0.0.1", port: 0, maxConnections: 3, tls }, ok);
    const started = performance.now();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    open.push(socket);
    socket.on("error", () => {});
    await new Promise((resolve) => {
      socket.on("close", resolve);
    });
    expect(performance.now() - started).toBeLessThan(8000);
    await rm(folder, { recursive: true });
  }, 15_000);

  test("end when the server closes, after the request in progress", async () => {
    await start(async (exchange) => {
      await Bun.sleep(300);
      await ok(exchange);
    });
    const idle = send(200);
    const busy = send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await Bun.sleep(100);
    const started = performance.now();
    await server!.close(5000);
    expect(performance.now() - started).toBeLessThan(2000);
    expect(await busy).toEndWith("done");
    await idle;
  });

  test("end in time even if a request does not", async () => {
    await start(async () => new Promise(() => {}));
    void send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await Bun.sleep(100);
    const started = performance.now();
    await server!.close(200);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
