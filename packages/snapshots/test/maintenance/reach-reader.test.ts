import { type EarlierReach, encodeReach, extendReach } from "../../src/format/records/reach.ts";
import { expect, test } from "bun:test";
import { RECORD_TYPES } from "../../src/format/records/types.ts";
import { createStore } from "@idk/storage";
import { naCl } from "../support/repository-writer.ts";
import { packsOf } from "../../src/format/records/reach.ts";
import { reachReader } from "../../src/maintenance/reach-reader.ts";
import { testRepository } from "../support/repositories.ts";

/** The first addresses of a long list. */
function packs(count: number): Uint8Array {
  const list = new Uint8Array(32 * count);
  const view = new DataView(list.buffer);
  for (let i = 0; i < count; i++) view.setUint32(32 * i, i);
  return list;
}

test("the packs of a repository that shrinks to a quarter can be read after a prune", async () => {
  const { backend, recipients, open } = await testRepository();
  const store = createStore({ backend, recipients, nacl: naCl, workers: 0 });
  const most = 320_000;
  let earlier: EarlierReach[] = [];
  for (const count of [most, most / 2, most / 4]) {
    const reach = extendReach(earlier, packs(count));
    const metadata = { type: RECORD_TYPES.reach };
    const address = await store.put(encodeReach(reach), { metadata });
    earlier = [...earlier.slice(0, reach.earlier.length), { ...reach, address }];
  }
  // Nothing else is left.
  const reaches = reachReader(await open(), async () => most / 4);
  const { rest } = await reaches.path(await reaches.root(earlier.at(-1)!.address));
  expect(Buffer.compare(packsOf(rest), packs(most / 4))).toBe(0);
});
