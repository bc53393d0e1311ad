import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Exchange } from "../../src/record/exchange.ts";
import {
  type ExchangeFilter,
  listSegments,
  readExchanges,
  type ReadFault,
} from "../../src/read/index.ts";
import { createHeap } from "../../src/read/heap.ts";
import { parseExchange } from "../../src/read/parse-exchange.ts";
import { DAY, exchange, listed, other, RUN, testArchive } from "./support.ts";

/** The numbers of exchanges. */
const numbers = (exchanges: readonly Exchange[]): number[] =>
  exchanges.map(({ id }) => Number(id.split("-")[1]));

describe("exchanges", () => {
  test("are read in the order in which they began, whatever the order of segments and lines", async () => {
    const archive = testArchive();
    const otherRun = "f".repeat(32);
    await archive.add([exchange(5, 500), exchange(3, 300)], { seq: 1 });
    await archive.add([exchange(1, 100), exchange(4, 400)], { run: otherRun });
    await archive.add([exchange(2, 200), exchange(0, 0)], { seq: 0 });
    expect(numbers(await listed(readExchanges(archive.store)))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("of the same millisecond are read by their numbers", async () => {
    const archive = testArchive();
    await archive.add([exchange(10, 0), exchange(9, 0), exchange(100, 0), exchange(2, 0)]);
    expect(numbers(await listed(readExchanges(archive.store)))).toEqual([2, 9, 10, 100]);
  });

  test("are read in order even if segments do not fit into memory together", async () => {
    const archive = testArchive();
    const text = "x".repeat(900_000);
    const body = { size: text.length, type: "text/plain", text };
    for (let number = 0; number < 45; number++) {
      const response = { status: 200, headers: [], body };
      const at = (number * 7) % 45;
      await archive.add([exchange(at, at, { response })], {
        seq: number,
        from: DAY + at,
        to: DAY + at,
      });
    }
    const { backend } = archive;
    let gets = 0;
    const counting = testArchive({
      ...backend,
      get: (name, buffer, options) => {
        gets += 1;
        return backend.get(name, buffer, options);
      },
    });
    const read = numbers(await listed(readExchanges(counting.store)));
    expect(read).toEqual(Array.from({ length: 45 }, (_, number) => number));
    // Those that were kept are fetched once.
    expect(gets).toBeGreaterThan(45);
    expect(gets).toBeLessThan(60);
  });

  const cases: readonly (readonly [filter: ExchangeFilter, found: readonly number[]])[] = [
    [{}, [0, 1, 2, 3, 4]],
    [{ from: DAY + 200 }, [2, 3, 4]],
    [{ to: DAY + 200 }, [0, 1]],
    [{ from: DAY + 100, to: DAY + 101 }, [1]],
    [{ status: "5xx" }, [2]],
    [{ status: "404, 5XX" }, [1, 2]],
    [{ status: "0" }, [4]],
    [{ status: "200" }, [0, 3]],
    [{ route: "/users/:id" }, [3]],
    [{ route: "/items/*" }, [0, 1, 2]],
    [{ route: "*" }, [0, 1, 2, 3, 4]],
    [{ id: `${RUN.slice(0, 12)}-2` }, [2]],
    [{ id: `${RUN.slice(0, 12)}-9` }, []],
    [{ id: "ffffffffffff-2" }, []],
    [{ grep: "needle" }, [1, 3]],
    [{ grep: "x-trace" }, [2]],
    [{ grep: "/elsewhere" }, [4]],
    [{ grep: "needle", status: "404" }, [1]],
  ];

  test.each(cases)("are filtered by %j", async (filter, found) => {
    const archive = testArchive();
    const answer = (status: number, more = {}) => ({ response: { status, headers: [], ...more } });
    const { response: _, ...unanswered } = exchange(4, 400);
    await archive.add([
      exchange(0, 0),
      exchange(1, 100, answer(404, { body: { size: 9, text: "a needle!" } })),
      exchange(2, 200, answer(503, { headers: [["x-trace", "1"]] })),
      exchange(3, 300, {
        route: "/users/:id",
        request: { method: "POST", url: "/users/3", headers: [["x-note", "needle"]] },
      }),
      {
        ...unanswered,
        request: { method: "GET", url: "https://b.example/elsewhere?x", headers: [] },
      },
    ]);
    expect(numbers(await listed(readExchanges(archive.store, filter)))).toEqual([...found]);
  });

  test("are not searched for a status that is none", async () => {
    const { store } = testArchive();
    for (const status of ["", "6x", "20", "2xxx", "ok", "5xx,"]) {
      expect(listed(readExchanges(store, { status }))).rejects.toMatchObject({
        code: "usage",
        message: "status must be a code or a class of codes, such as 404, 5xx or 404,5xx",
      });
    }
  });

  test("are read although others are damaged, forged or for others", async () => {
    const archive = testArchive();
    const faults: ReadFault[] = [];
    await archive.add([exchange(0, 0), exchange(1, 100)]);
    const damaged = await archive.add([exchange(2, 200)], { seq: 1 });
    const forged = await archive.add([
      "nonsense",
      JSON.stringify({ ...exchange(3, 300), id: 5 }),
      // Outside of the times that the segment announces.
      JSON.stringify(exchange(4, 86_400_000)),
      exchange(5, 500),
    ]);
    await archive.add([exchange(6, 600)], {}, other.recipient);
    await archive.store.put("not a segment", { recipients: [other.recipient] });
    // Its root is for others, and its chunks are no segments.
    await archive.store.put(new Uint8Array(5_000_000), { recipients: [other.recipient] });
    await archive.backend.delete(damaged);
    await archive.backend.put(damaged, Buffer.from("rotten"));
    const read = await listed(
      readExchanges(archive.store, { onFault: (fault) => void faults.push(fault) }),
    );
    expect(numbers(read)).toEqual([0, 1, 5]);
    expect(faults).toHaveLength(3);
    expect(faults).toContainEqual(expect.objectContaining({ kind: "damaged", address: damaged }));
    expect(faults).toContainEqual({ kind: "lines", address: forged, count: 3 });
    expect(faults).toContainEqual({ kind: "closed", count: 3, opened: 2 });
  });

  test("are not read from segments stored before", async () => {
    const archive = testArchive();
    await archive.add([exchange(0, 0)]);
    const gets: string[] = [];
    const { backend } = archive;
    const counting = testArchive({
      ...backend,
      get: (name, buffer, options) => {
        gets.push(name);
        return backend.get(name, buffer, options);
      },
    });
    const later = Date.now() + 2 * 60 * 60 * 1000;
    expect(await listed(readExchanges(counting.store, { from: later }))).toEqual([]);
    expect(gets).toEqual([]);
    expect(await listed(readExchanges(counting.store, { from: DAY }))).toHaveLength(1);
    expect(gets).toHaveLength(1);
  });

  test("end with the signal", async () => {
    const archive = testArchive();
    await archive.add([exchange(0, 0)]);
    const signal = AbortSignal.abort();
    expect(listed(readExchanges(archive.store, { signal }))).rejects.toMatchObject({
      code: "aborted",
    });
  });

  test("are not read with a store that fails", async () => {
    const archive = testArchive();
    await archive.add([exchange(0, 0)]);
    const { backend } = archive;
    const get = () => Promise.reject(Object.assign(new Error("no"), { code: "x" }));
    const failing = testArchive({ ...backend, get });
    expect(listed(readExchanges(failing.store))).rejects.toThrow("no");
  });
});

describe("segments", () => {
  test("are listed by time, with what they announce", async () => {
    const archive = testArchive();
    const second = await archive.add([exchange(1, 100)], {
      seq: 1,
      from: DAY + 100,
      end: "closed",
    });
    const first = await archive.add([exchange(0, 0)]);
    const found = await listSegments(archive.store);
    expect(found.map(({ address }) => address)).toEqual([first, second]);
    expect(found[1]!.metadata).toMatchObject({ seq: 1, count: 1, end: "closed" });
    expect(found[1]!.storedBytes).toBeGreaterThan(100);
    expect((await listSegments(archive.store, { from: DAY + 50 })).length).toBe(1);
    expect((await listSegments(archive.store, { to: DAY + 50 })).length).toBe(1);
  });
});

type Members = Record<string, unknown>;

describe("lines", () => {
  /** An exchange in which the member at a path is another one, or is missing. */
  const line = (path: string, value?: unknown): string => {
    const changed = structuredClone(exchange(1, 1)) as unknown as Members;
    const names = path.split(".");
    const last = names.pop()!;
    const at = names.reduce((members, name) => members[name] as Members, changed);
    at[last] = value;
    return JSON.stringify(changed);
  };

  test("that are exchanges are, with members that are not known", () => {
    expect(parseExchange(line("later"))).toEqual(exchange(1, 1));
    expect(parseExchange(line("response"))).toBeDefined();
    expect(parseExchange(line("later", 1))).toHaveProperty("later", 1);
  });

  test.each([
    ["", "no JSON"],
    ["null", "no object"],
    ["[]", "no object"],
    [line("id", 1), "id"],
    [line("time", "yesterday"), "time"],
    [line("time", "2026-13-45T00:00:00.000Z"), "time"],
    [line("time", "2026-11-20"), "time"],
    [line("ms", "1"), "ms"],
    [line("direction", "up"), "direction"],
    [line("route", 1), "route"],
    [line("ended", "well"), "ended"],
    [line("request"), "request"],
    [line("request.url", 1), "url"],
    [line("request.headers", [["a"]]), "headers"],
    [line("request.headers", [["a", 1]]), "headers"],
    [line("request.body", "text"), "body"],
    [line("request.body", { size: -1 }), "size"],
    [line("request.body", { size: 1, text: 5 }), "text"],
    [line("request.body", { size: 1, cut: false }), "cut"],
    [line("response.status", "200"), "status"],
    [line("response", []), "response"],
  ])("that are not exchanges are refused: %p", (text) => {
    expect(parseExchange(text)).toBeUndefined();
  });
});

test("a heap takes its items in order", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ max: 50 }))), (steps) => {
      const heap = createHeap<number>((a, b) => a - b);
      const items: number[] = [];
      for (const step of steps) {
        if (step === null) expect(heap.take()).toBe(items.shift());
        else {
          heap.add(step);
          items.push(step);
          items.sort((a, b) => a - b);
        }
        expect([heap.size, heap.first()]).toEqual([items.length, items[0]]);
      }
    }),
  );
});
