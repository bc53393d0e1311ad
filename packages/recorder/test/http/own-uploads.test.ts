import { expect, test } from "bun:test";
import { memory } from "@idk/storage/memory";
import type { FetchFunction } from "../../src/capture/outbound.ts";
import { newArchive } from "../support/archive.ts";
import { until } from "../support/until.ts";

test("on Bun, uploads by the recorded fetch are not recorded", async () => {
  const store = memory();
  const fetches: FetchFunction[] = [];
  const put: typeof store.put = async (...given) => {
    await fetches[0]!("http://store/");
    return store.put(...given);
  };
  await using archive = newArchive({ backend: { ...store, put }, limits: { segmentMs: 10 } });
  fetches.push(archive.recorder.fetch(async () => new Response(null, { status: 204 })));
  await fetches[0]!("http://a/");
  await until(() => archive.recorder.stats().uploaded === 1);
  await Bun.sleep(100);
  expect(archive.recorder.stats()).toMatchObject({ seen: 1, uploaded: 1 });
});
