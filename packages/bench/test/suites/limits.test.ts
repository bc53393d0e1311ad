import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunStore, openRunStore } from "../../src/command/run-store.ts";
import { boundOf, differenceOf } from "../../src/suites/limits/bound.ts";
import { allowedCores, missingTaskset } from "../../src/suites/limits/cores.ts";
import { runTiny } from "./run-tiny.ts";

const MIB = 2 ** 20;

const hash = { kind: "processor", seconds: 3, cpuSeconds: 3, busySeconds: 3 } as const;
const open = { kind: "processor", seconds: 2, cpuSeconds: 2, busySeconds: 2 } as const;
const gets = { kind: "store", seconds: 2, cpuSeconds: 1, busySeconds: 3 } as const;
const file = { kind: "disk", seconds: 1, cpuSeconds: 0.5, busySeconds: 0.5 } as const;

describe("the bound of parts", () => {
  const cases: [string, Parameters<typeof boundOf>, ReturnType<typeof boundOf>][] = [
    ["processors share work", [[hash, open], { own: 1 }], { seconds: 5, by: "the processor" }],
    ["more cores share it", [[hash, open], { own: 2 }], { seconds: 2.5, by: "the processor" }],
    ["requests overlap with it", [[gets, open], { own: 2 }], { seconds: 2, by: "the store" }],
    [
      "requests need the processor, too",
      [[gets, hash], { own: 1 }],
      { seconds: 4, by: "the processor" },
    ],
    [
      "a store here needs the cores of the machine",
      [[gets, hash], { own: 2, shared: 2 }],
      { seconds: 3, by: "the processors, with the store" },
    ],
    [
      "files follow each other, and overlap with requests",
      [[gets, { ...file, seconds: 1.5 }, { ...file, seconds: 1.5 }], { own: 2 }],
      { seconds: 3, by: "the disk" },
    ],
  ];
  test.each(cases)("%s", (_, given, expected) => expect(boundOf(...given)).toEqual(expected));
});

describe("what is beyond the bound", () => {
  const whole = { seconds: 4, cpuSeconds: 3 };
  const fixed = { seconds: 0.5, cpuSeconds: 0.4 };

  test("adds up to it", () => {
    const beyond = differenceOf(whole, 2, fixed, 2, 1);
    expect(beyond.fixed).toBeCloseTo(0.5);
    expect(beyond.processor).toBeCloseTo(0.6);
    expect(beyond.waiting).toBeCloseTo(0.9);
  });

  test("two cores share more work", () => {
    expect(differenceOf(whole, 2, fixed, 2, 2).processor).toBeCloseTo(0.3);
  });

  test("is never more than there is, nor negative", () => {
    expect(differenceOf(whole, 3.8, fixed, 0, 1)).toEqual({
      fixed: expect.closeTo(0.2),
      processor: 0,
      waiting: 0,
    });
    expect(differenceOf(whole, 5, fixed, 9, 1)).toEqual({ fixed: 0, processor: 0, waiting: 0 });
    expect(differenceOf(whole, 3.4, fixed, 0, 1).waiting).toBe(0);
  });
});

test("reads the cores of a process", () => {
  expect(allowedCores("Name:\tbun\nCpus_allowed_list:\t0,2-4,7\n")).toEqual([0, 2, 3, 4, 7]);
  expect(allowedCores("Cpus_allowed_list:\t5\n")).toEqual([5]);
});

test("without taskset, the suite is skipped and says why", () => {
  expect(missingTaskset({ PATH: "/nonexistent" })).toContain("taskset not found");
});

const given = process.env["IDK_TEST_MINIO"];
if (given) describe("with a MinIO", () => tests(new URL(given)));
else if (process.env["CI"]) throw new Error("IDK_TEST_MINIO is not set: script/minio starts one");
else test.skip("limits: no MinIO (script/minio run COMMAND… starts one)", () => {});

function tests(url: URL): void {
  let store: RunStore;
  beforeAll(async () => {
    const accessKeyId = decodeURIComponent(url.username);
    const secretAccessKey = decodeURIComponent(url.password);
    const server = { endpoint: url.origin, region: "us-east-1", accessKeyId, secretAccessKey };
    store = await openRunStore({ kind: "server", server });
  });
  afterAll(() => store.close());

  test("prints the parts, the bound and the difference of each operation", async () => {
    const { measurements, targets, notes } = await runTiny("limits", [4 * MIB], {
      store: store.access,
      env: { PATH: process.env["PATH"] },
    });
    const tables = new Set(measurements.map(({ table = "" }) => table));
    const counts = allowedCores().length > 1 ? ["1 core", "2 cores"] : ["1 core"];
    const names = ["put", "get", "verify", "restore"].map((operation) =>
      counts.map((cores) => `${operation}, ${cores}`),
    );
    expect([...tables].toSorted()).toEqual(names.flat().toSorted());
    expect(targets.map(({ name }) => name)).toEqual(
      names.flat().map((name) => `${name}: time to its bound`),
    );
    for (const name of tables) {
      const own = measurements.filter(({ table }) => table === name);
      const seconds = (series: string) =>
        own.find((one) => one.name === `${name}: ${series}`)!.samples[0]!;
      const beyond = own.filter(({ series }) => series.startsWith("beyond it"));
      const sum = beyond.reduce((all, { samples }) => all + samples[0]!, 0);
      expect(sum).toBeCloseTo(Math.max(0, seconds("idk") - seconds("bound")), 3);
      expect(seconds("bound")).toBeGreaterThan(0);
      expect(notes.filter((note) => note.startsWith(`${name}: `))).toHaveLength(1);
    }
  }, 120_000);
}
