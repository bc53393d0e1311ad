import { type Backend, replicate } from "../../../src/index.ts";
import { describe, expect, test } from "bun:test";
import { filled, namesIn } from "./replicate-support.ts";
import { rejects } from "../../format/fails.ts";
import { memory } from "../../../src/backend/memory.ts";

const markers = Array.from({ length: 40 }, (_, i) => {
  const digit = (i % 16).toString(16);
  return `${digit.repeat(32)}/${i.toString(16).padStart(16, "0")}-${digit.repeat(64)}`;
}).toSorted();

async function withMarkers(): Promise<{ from: Backend; all: readonly string[] }> {
  const { from, all } = await filled();
  for (const name of markers) await from.putMarker!(name);
  return { from, all };
}

const markersIn = async (backend: Backend): Promise<string[]> =>
  (await Array.fromAsync(backend.listMarkers!(""))).map(({ name }) => name);

describe("markers", () => {
  test("are copied if asked for, after all blobs", async () => {
    const { from, all } = await withMarkers();
    const to = memory();
    let blobsBefore = Infinity;
    const watching: Backend = {
      ...to,
      async putMarker(...given) {
        blobsBefore = Math.min(blobsBefore, (await namesIn(to)).length);
        await to.putMarker!(...given);
      },
    };
    const report = await replicate(from, watching, { markers: true });
    const counts = { copied: all.length, failed: 0, markers: markers.length };
    expect(report).toMatchObject({ ...counts, markersRemoved: 0 });
    expect(await markersIn(to)).toEqual(markers);
    expect(blobsBefore).toBe(all.length);
    // Again, because a copy that was interrupted is resumed.
    expect(await replicate(from, to, { markers: true, trustSize: true })).toMatchObject({
      copied: 0,
      markers: markers.length,
    });
    expect(await markersIn(to)).toEqual(markers);
  });

  test("are not copied otherwise", async () => {
    const { from } = await withMarkers();
    const to = memory();
    expect(await replicate(from, to)).not.toHaveProperty("markers");
    expect(await markersIn(to)).toEqual([]);
  });

  test("that are stored during the copy wait for the next one", async () => {
    const { from } = await withMarkers();
    const to = memory();
    const late = `${"9".repeat(32)}/${"9".repeat(16)}-${"9".repeat(64)}`;
    const onProgress = () => void from.putMarker!(late);
    await replicate(from, to, { markers: true, onProgress });
    expect(await markersIn(to)).toEqual(markers);
  });

  test("that are deleted during the copy are not stored, as their blobs may be gone", async () => {
    const { from, all } = await withMarkers();
    const to = memory();
    const gone = [markers[0]!, markers[7]!, markers[8]!, markers.at(-1)!];
    // As a prune does: markers first, and blobs before they are copied.
    let isFirst = true;
    const listing: Backend = {
      ...from,
      async *list(...given) {
        if (isFirst) {
          isFirst = false;
          for (const name of gone) await from.deleteMarker!(name);
          await from.delete(all[0]!);
        }
        yield* from.list(...given);
      },
    };
    const report = await replicate(listing, to, { markers: true });
    const left = markers.filter((name) => !gone.includes(name));
    const counts = { copied: all.length - 1, failed: 0, markers: left.length };
    expect(report).toMatchObject({ ...counts, markersRemoved: gone.length });
    expect(await markersIn(to)).toEqual(left);
  });

  test("are withheld if a blob failed", async () => {
    const { from, all } = await withMarkers();
    await from.put(all[0]!, new Uint8Array(100));
    const to = memory();
    const report = await replicate(from, to, { markers: true });
    expect(report).toMatchObject({ failed: 1, markers: 0 });
    expect(await markersIn(to)).toEqual([]);
  });

  test("are not copied from a source that lists them in another order, or twice", async () => {
    const { from } = await withMarkers();
    const orders: Record<string, (names: readonly string[]) => readonly string[]> = {
      reversed: (names) => names.toReversed(),
      twice: (names) => names.flatMap((name) => [name, name]),
    };
    for (const order of Object.values(orders)) {
      // The second listing only, or both.
      for (const first of [0, 1]) {
        let listings = 0;
        const unordered: Backend = {
          ...from,
          async *listMarkers(...given) {
            const all = await Array.fromAsync(from.listMarkers!(...given));
            const found = all.map(({ name }) => name);
            const names = listings++ < first ? found : order(found);
            yield* names.map((name) => ({ name, storedAt: 0 }));
          },
        };
        const copy = replicate(unordered, memory(), { markers: true });
        await rejects(copy, "unavailable", "does not list markers in ascending order");
      }
    }
  });

  test("cannot be copied where there are none", async () => {
    const { listMarkers: _, ...without } = memory();
    const copy = replicate(without, memory(), { markers: true });
    await rejects(copy, "usage", "cannot copy markers: memory has none");
    const { putMarker: _2, ...closed } = memory();
    await rejects(replicate(memory(), closed, { markers: true }), "usage", "memory has none");
  });
});
