import { expect, test } from "bun:test";
import { withLine } from "../../src/object-store/line.ts";
import { paced } from "../../src/object-store/line-proxy.ts";

test("pieces wait for each other, however many connections send them", () => {
  const wait = paced(1_000_000);
  // The first may make up for 5 ms.
  expect(wait(10_000, 0)).toBeCloseTo(5);
  expect(wait(10_000, 0)).toBeCloseTo(15);
  expect(wait(10_000, 10)).toBeCloseTo(15);
});

test("a line does not save what it could have sent", () => {
  const wait = paced(1_000_000);
  wait(1000, 0);
  expect(wait(100_000, 60_000)).toBeCloseTo(95);
});

test("a timer that fires late costs nothing", () => {
  const wait = paced(1_000_000);
  let now = 0;
  for (let i = 0; i < 100; i++) now += Math.max(0, wait(2000, now)) + 1;
  expect(now).toBeLessThan(205);
});

const KB = 1000;

test.each(["up", "down"])("all connections share one rate %s", async (way) => {
  const body = crypto.getRandomValues(new Uint8Array(50 * KB));
  const hash = (bytes: Uint8Array) => Bun.hash(bytes).toString();
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) =>
      new Response(way === "up" ? hash(await request.bytes()) : body.slice()),
  });
  let endpoint = "";
  {
    await using line = await withLine(server.url.origin, { rate: 500 * KB });
    ({ endpoint } = line);
    const once = async () => {
      const response = await fetch(endpoint, way === "up" ? { method: "PUT", body } : {});
      if (way === "up") expect(await response.text()).toBe(hash(body));
      else expect(hash(await response.bytes())).toBe(hash(body));
    };
    const start = performance.now();
    await Promise.all([once(), once(), once()]);
    // Alone, each would take 100 ms.
    expect(performance.now() - start).toBeGreaterThan(280);
  }
  expect(await fetch(endpoint).catch(() => "gone")).toBe("gone");
});

test("a store with TLS has no line", async () => {
  const encrypted = withLine("https://s3.example", { rate: 1000 });
  expect(await encrypted.catch(String)).toContain("--rate needs a store without TLS");
});

test("without a line, the store stays where it is", async () => {
  await using line = await withLine("http://127.0.0.1:1", {});
  expect(line.endpoint).toBe("http://127.0.0.1:1");
});
