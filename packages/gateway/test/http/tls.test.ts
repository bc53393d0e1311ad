import { expect, test } from "bun:test";
import type { TLSSocket } from "node:tls";
import { closed, newCertificate, ok, startServer } from "./support.ts";

const LAST = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

test("connections count before they are encrypted, and make room for others", async () => {
  const { connectPlain, send, server } = await startServer(ok, {
    scheme: "https",
    maxConnections: 4,
  });
  // Beyond the maximum, this machine has 16 more.
  const silent = Array.from({ length: 60 }, () => connectPlain());
  let ended = 0;
  for (const socket of silent) {
    socket.on("close", () => {
      ended += 1;
    });
  }
  while (ended < 40) await Bun.sleep(10);
  expect(server.connections()).toBe(20);
  expect(server.refused()).toBe(40);
  expect(await send(LAST)).toEndWith("done");
});

test("a connection that is never encrypted is closed soon", async () => {
  const { connectPlain, server } = await startServer(ok, { scheme: "https" });
  const socket = connectPlain();
  expect(await closed(socket)).toBeLessThan(6000);
  expect(server.connections()).toBe(0);
}, 120_000);

test("a connection in plain text is closed, and harms nobody", async () => {
  const { connectPlain, send, server } = await startServer(ok, { scheme: "https" });
  const socket = connectPlain();
  socket.resume();
  socket.write(LAST);
  expect(await closed(socket)).toBeLessThan(2000);
  expect(await send(LAST)).toEndWith("done");
  while (server.connections() > 0) await Bun.sleep(5);
});

test("after a body that nobody read, the connection is used for the next request", async () => {
  const { send } = await startServer(
    async (exchange) => {
      // Until all of it is there.
      await Bun.sleep(50);
      await ok(exchange);
    },
    { scheme: "https" },
  );
  // Its last piece makes more of it wait than is read ahead, and ends it.
  const length = 70_000;
  const first = `PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`;
  const answers = await send(first, 200, LAST);
  expect(answers.match(/HTTP\/1\.1 200 OK/gu)).toHaveLength(2);
});

test("a new certificate is used from then on, and a wrong one is not", async () => {
  const { connect, server } = await startServer(ok, { scheme: "https" });
  const seen = async (): Promise<string> => {
    const socket = connect() as TLSSocket;
    await new Promise((resolve) => {
      socket.on("secureConnect", resolve);
    });
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const before = await seen();
  const [first, second] = await Promise.all([newCertificate(), newCertificate()]);
  expect(() => server.setCertificate({ cert: first.cert, key: second.key })).toThrow();
  expect(() => server.setCertificate({ cert: "no PEM", key: second.key })).toThrow();
  expect(await seen()).toBe(before);
  server.setCertificate(first);
  const after = await seen();
  expect(after).not.toBe(before);
  expect(await seen()).toBe(after);
});

test("a server without TLS takes no certificate", async () => {
  const { server } = await startServer(ok);
  const files = await newCertificate();
  expect(() => server.setCertificate(files)).toThrow("the server has no certificate");
});
