import { expect, test } from "bun:test";
import { runSuite } from "../src/run-suite.ts";
import { fakeSuite } from "./command/fake-context.ts";

test("a suite runs with the settings of a run without flags", async () => {
  const suite = fakeSuite("one");
  const { status, seconds, targets, pairs } = await runSuite(suite, { iterations: 3 });
  expect([status, targets.length, pairs]).toEqual(["completed", 1, []]);
  expect(seconds).toBeGreaterThan(0);
  expect(suite.contexts[0]).toMatchObject({ quick: false, seed: 1, iterations: 3 });
});

test("a suite is skipped without what it needs, and failed if it throws", async () => {
  const outcome = async (more: Parameters<typeof fakeSuite>[1]) => {
    const { status, reason } = await runSuite(fakeSuite("one", more));
    return [status, reason];
  };
  expect(await outcome({ needsObjectStore: true })).toEqual(["skipped", "no object store"]);
  expect(await outcome({ missing: () => "no rclone" })).toEqual(["skipped", "no rclone"]);
  const run = () => Promise.reject(new Error("HTTP 500"));
  expect(await outcome({ run })).toEqual(["failed", "HTTP 500"]);
});
