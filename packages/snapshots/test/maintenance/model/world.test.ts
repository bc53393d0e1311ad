import { Lost, world } from "./world.ts";
import { expect, test } from "bun:test";
import type { ChainId } from "../../../src/format/names/identifiers.ts";
import type { Head } from "../../../src/format/records/head.ts";
import type { Marker } from "../../../src/format/names/marker.ts";

import { type Address, addressOf } from "@idk/storage";
import { formatMarker } from "../../../src/format/names/marker.ts";
import { randomFrom } from "./random.ts";

const DAY = 24 * 60 * 60 * 1000;
const GRACE = 7 * DAY;
const START = Date.UTC(2026, 0, 1);

test("a head whose marker was put again may not lose anything once it is unforgotten", async () => {
  const blob = new Uint8Array(9);
  const address: Address = addressOf(blob);
  const marker = (chain: string, generation: number): Marker => ({
    chain: chain.repeat(32) as ChainId,
    generation,
    address,
  });
  const head = marker("a", START);
  const forgetting = { kind: "forget", markers: [head] } as unknown as Head;
  const judge = world(
    randomFrom(1),
    GRACE,
    0,
    START,
    async () => forgetting,
    async () => [],
  );
  const { backend } = judge;
  await backend.put(address, blob);
  // The newest of its chain stays.
  for (const each of [head, marker("a", START + 1)]) {
    const needed = each === head ? [address] : [];
    judge.expect({ marker: each, kind: "snap", name: "home", needed, deadline: Infinity });
    await backend.putMarker!(formatMarker(each));
  }
  await backend.putMarker!(formatMarker(marker("b", START)));
  judge.now += 2 * GRACE;
  await backend.deleteMarker!(formatMarker(head));
  await backend.putMarker!(formatMarker(head));
  judge.confirm(marker("b", START + 1), [head]);
  const deleted: unknown = await backend.delete(address).catch((error: unknown) => error);
  expect(deleted).toBeInstanceOf(Lost);
});
