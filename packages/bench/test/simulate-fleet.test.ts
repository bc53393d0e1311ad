import { expect, test } from "bun:test";
import { simulateFleet } from "../src/simulate-fleet.ts";

test("writers and readers who know nothing of each other do no harm to each other", async () => {
  const [writers, readers, each] = [6, 3, 6];
  const outcome = await simulateFleet(writers, readers, each);
  // Half of each writer's contents are its own; the others are the same for all.
  const contents = (writers * each) / 2 + each / 2;
  expect(outcome.contents).toBe(contents);
  expect(outcome.read).toBe(readers * contents);
  expect(outcome.damaged).toBe(0);
  // Five chunks and a root for each content: what several wrote is there once.
  expect(outcome.blobs).toBe(contents * 6);
  expect(outcome.puts).toBe(writers * each * 6);
});
