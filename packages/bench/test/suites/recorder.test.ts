import { expect, test } from "bun:test";
import { runSuite } from "../../src/run-suite.ts";
import { suites } from "../../src/suites.ts";
import { runTiny } from "./run-tiny.ts";

test("measures latency, its tail and CPU time, and judges each", async () => {
  const options = { endpoints: "simple,large-post" };
  const { measurements, targets, notes } = await runTiny("recorder", undefined, { options });
  expect(measurements.map(({ name }) => name)).toEqual([
    ...["simple", "large-post"].flatMap((endpoint) =>
      ["disabled", "control", "active", ...(endpoint === "simple" ? [] : ["whole"])].flatMap(
        (mode) => [`${endpoint}, ${mode}`, `${endpoint}, ${mode}: 99.9th percentile`],
      ),
    ),
    "1 MB: scan + JSON + secretbox + SHA-256",
    "1 MB: scan",
    "1 MB: JSON.parse",
  ]);
  expect(targets.map(({ name, kind }) => [name, kind])).toEqual([
    ["simple: CPU of the recorder for each request", "cpu"],
    ["large-post: CPU of the recorder for whole bodies, to the least work", "cpu"],
    ["1 MB: CPU of the scan for secrets, to JSON.parse", "cpu"],
    ["simple: median latency, not recorded once more to not recorded", "wall"],
    ["simple: median latency, recorded to not recorded", "wall"],
    ["simple: 99.9th percentile of latency beyond the control", "wall"],
    ["large-post: median latency, not recorded once more to not recorded", "wall"],
    ["large-post: median latency, recorded to not recorded", "wall"],
    ["large-post: 99.9th percentile of latency beyond the control", "wall"],
  ]);
  expect(notes[0]).toMatch(/simple \d+, large-post \d+\./u);
}, 120_000);

test("measures memory while the store does not answer", async () => {
  const { measurements, targets } = await runTiny("recorder-outage", undefined, {
    options: { seconds: 1 },
  });
  expect(measurements.map(({ name }) => name)).toEqual([
    "1 s without a store, disabled",
    "1 s without a store, active",
  ]);
  expect(targets.map(({ name, kind }) => [name, kind])).toEqual([
    ["1 s without a store: peak memory beyond that without a recorder", "exact"],
  ]);
  expect(measurements[1]!.memory!.length).toBeGreaterThan(50);
}, 60_000);

test("rejects an endpoint that the server does not have", async () => {
  const suite = suites.find(({ name }) => name === "recorder")!;
  const result = await runSuite(suite, { quick: true, env: {}, options: { endpoints: "none" } });
  expect(result).toMatchObject({ status: "failed", reason: "there is no endpoint none" });
});
