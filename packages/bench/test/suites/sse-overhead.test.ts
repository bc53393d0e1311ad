import { type Backend, StorageError, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { describe, expect, test } from "bun:test";
import { bareS3 } from "../../src/object-store/bare-s3.ts";
import { type Retries, timed } from "../../src/suites/object-store/sse-overhead.ts";

const busy = new StorageError("unavailable", "busy", { transient: true });
const bytes = new Uint8Array(1);

/** A backend whose puts fail a number of times. */
function failing(times: number, error: Error): { backend: Backend; calls: () => number } {
  let calls = 0;
  const backend = wrapBackend(memory(), {
    put:
      (put) =>
      async (...call) => {
        calls += 1;
        if (calls <= times) throw error;
        await put(...call);
      },
  });
  return { backend, calls: () => calls };
}

function retrying(most: number, baseDelayMs: number) {
  const lines: string[] = [];
  const retries: Retries = { most, baseDelayMs, count: 0, seconds: 0 };
  const put = (backend: Backend, signal?: AbortSignal) =>
    timed(backend, retries, (line) => void lines.push(line)).put("name", bytes, { signal });
  return { lines, retries, put };
}

describe("retries of sse-overhead", () => {
  test("only the successful attempt is timed, and each retry is counted", async () => {
    const { retries, put, lines } = retrying(5, 100);
    const asking = new StorageError("unavailable", "busy", { transient: true, retryAfterMs: 30 });
    await put(failing(2, asking).backend);
    expect([retries.count, lines.length]).toEqual([2, 2]);
    // A server can ask for a longer wait.
    for (const line of lines) {
      const [, wait] = /^retrying in (\d+) ms: busy$/u.exec(line) ?? [];
      expect(Number(wait)).toBeGreaterThanOrEqual(30);
    }
    expect(retries.seconds).toBeGreaterThan(0);
    expect(retries.seconds).toBeLessThan(0.03);
  });

  test("the last error is thrown, and one that is not transient at once", async () => {
    const often = failing(9, busy);
    expect(await retrying(2, 1).put(often.backend).catch(String)).toContain("busy");
    expect(often.calls()).toBe(3);
    const denied = failing(9, new StorageError("permission", "denied"));
    expect(await retrying(2, 1).put(denied.backend).catch(String)).toContain("denied");
    expect(denied.calls()).toBe(1);
  });

  test("an interruption ends the wait", async () => {
    const controller = new AbortController();
    const slow = new StorageError("unavailable", "busy", { transient: true, retryAfterMs: 50_000 });
    const { put } = retrying(5, 1);
    const running = put(failing(9, slow).backend, controller.signal).catch(() => "stopped");
    setTimeout(() => controller.abort(), 5);
    expect(await running).toBe("stopped");
  });

  test("bare requests are retried after 503, not after 403", async () => {
    const statuses = [503, 200, 403];
    using server = Bun.serve({
      port: 0,
      fetch: () => new Response(null, { status: statuses.shift()! }),
    });
    const { head } = bareS3(
      {
        endpoint: `http://127.0.0.1:${server.port}`,
        region: "us-east-1",
        bucket: "attic",
        prefix: "",
        accessKeyId: "id",
        secretAccessKey: "key",
      },
      { attempts: 2 },
    );
    await head("name");
    expect(await head("name").catch(String)).toContain("403");
    expect(statuses).toEqual([]);
  });
});
