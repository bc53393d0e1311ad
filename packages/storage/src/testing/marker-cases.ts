import assert from "node:assert/strict";
import {
  type Backend,
  isMarkerName,
  type ListMarkersOptions,
  type Marker,
} from "../backend/backend.ts";
import { toHex } from "../bytes.ts";
import { assertHolds, blobOf, type Case, collect, fails, newName } from "./cases.ts";

/** The methods that a backend has all or none of. */
const METHODS = ["putMarker", "listMarkers", "deleteMarker", "currentTime"] as const;

type WithMarkers = Backend & Required<Pick<Backend, (typeof METHODS)[number]>>;

/** By how much the times of a storage and of the test's two calls may differ, in milliseconds. */
const TOLERANCE = 5000;

/** Cases for markers. They pass on a backend without them. */
export function markerCases(many: number): readonly Case[] {
  const cases: readonly MarkerCase[] = [
    {
      name: "lists no markers if there are none",
      async check({ backend }) {
        assert.deepEqual(await names(backend, ""), []);
        assert.deepEqual(await names(backend, chainOf("a")), []);
        await backend.put(newName(), blobOf(1));
        assert.deepEqual(await names(backend, ""), []);
      },
    },
    {
      name: "keeps a marker when reopened",
      async check({ backend, reopen }) {
        const name = newMarker();
        await backend.putMarker(name);
        assert.deepEqual(await names(backend, ""), [name]);
        assert.deepEqual(await names(await reopen(), ""), [name]);
      },
    },
    {
      name: "stores the same marker twice",
      async check({ backend, reopen }) {
        const name = newMarker();
        await backend.putMarker(name);
        await backend.putMarker(name);
        await (await reopen()).putMarker(name);
        assert.deepEqual(await names(backend, ""), [name]);
      },
    },
    {
      name: "stores markers concurrently, the same and others",
      async check({ backend, reopen }) {
        const other = await reopen();
        const all = Array.from({ length: 8 }, (_, i) => newMarker(chainOf(String(i % 3))));
        const puts = [...all, ...all].map((name, i) =>
          (i % 2 === 0 ? backend : other).putMarker(name),
        );
        await Promise.all(puts);
        assert.deepEqual(await names(backend, ""), all.toSorted());
      },
    },
    {
      name: "deletes a marker, and only that one",
      async check({ backend, reopen }) {
        const [deleted, kept] = [newMarker(chainOf("a")), newMarker(chainOf("a"))];
        await backend.putMarker(deleted);
        await backend.putMarker(kept);
        await backend.deleteMarker(deleted);
        assert.deepEqual(await names(backend, ""), [kept]);
        assert.deepEqual(await names(await reopen(), ""), [kept]);
      },
    },
    {
      name: "deletes a marker with all its versions, and stores it again",
      async check({ backend }) {
        const name = newMarker();
        for (let i = 0; i < 3; i++) await backend.putMarker(name);
        await backend.deleteMarker(name);
        assert.deepEqual(await names(backend, ""), []);
        await backend.putMarker(name);
        assert.deepEqual(await names(backend, ""), [name]);
        await backend.deleteMarker(name);
        assert.deepEqual(await names(backend, ""), []);
      },
    },
    {
      name: "deletes a missing marker without an error",
      async check({ backend }) {
        await backend.deleteMarker(newMarker());
        const kept = newMarker();
        await backend.putMarker(kept);
        await backend.deleteMarker(newMarker());
        await backend.deleteMarker(newMarker(kept.slice(0, 32)));
        assert.deepEqual(await names(backend, ""), [kept]);
      },
    },
    {
      name: "keeps markers and blobs apart",
      async check({ backend }) {
        const [blob, bytes] = [newName(), blobOf(100)];
        const marker = `${blob.slice(0, 32)}/${blob.slice(0, 16)}-${blob}`;
        await backend.put(blob, bytes);
        await backend.putMarker(marker);
        assert.deepEqual(await collect(backend.list("")), [{ name: blob, size: 100 }]);
        assert.deepEqual(await names(backend, ""), [marker]);
        await backend.deleteMarker(marker);
        await assertHolds(backend, blob, bytes);
        await backend.putMarker(marker);
        await backend.delete(blob);
        assert.deepEqual(await collect(backend.list("")), []);
        assert.deepEqual(await names(backend, ""), [marker]);
      },
    },
    {
      name: "lists markers with the storage's own time",
      async check({ backend }) {
        const before = await backend.currentTime();
        const name = newMarker();
        await backend.putMarker(name);
        const [marker] = await Array.fromAsync(backend.listMarkers(""));
        const after = await backend.currentTime();
        assert.equal(marker?.name, name);
        for (const time of [before, marker.storedAt, after]) assert.ok(Number.isSafeInteger(time));
        assert.ok(after >= before - TOLERANCE, "the time runs backwards");
        assert.ok(
          marker.storedAt >= before - TOLERANCE && marker.storedAt <= after + TOLERANCE,
          `stored at ${marker.storedAt}, between ${before} and ${after}`,
        );
      },
    },
    {
      name: "tells the same time, and keeps what it has, if it is asked to make the storage",
      async check({ backend, reopen }) {
        const before = await backend.currentTime({ create: true });
        const name = newMarker();
        await backend.putMarker(name);
        const created = await (await reopen()).currentTime({ create: true });
        const after = await backend.currentTime();
        assert.ok(Number.isSafeInteger(before) && Number.isSafeInteger(created));
        assert.ok(
          created >= before - TOLERANCE && created <= after + TOLERANCE,
          `the time with create is ${created}, between ${before} and ${after}`,
        );
        assert.deepEqual(await names(backend, ""), [name]);
      },
    },
    {
      name: "leaves nothing behind when it finds out the time",
      async check({ backend }) {
        await backend.currentTime();
        await backend.currentTime({ create: true });
        assert.deepEqual(await names(backend, ""), []);
        assert.deepEqual(await collect(backend.list("")), []);
      },
    },
    {
      name: "lists markers in order, from a start, by prefix and up to a limit",
      async check({ backend, reopen }) {
        const stored = await putMarkers(backend, 4);
        for (const each of [backend, await reopen()]) {
          await assertListings(each, stored, [1, 2, 5]);
        }
      },
    },
    {
      // One case, because storing the markers takes much longer than listing them.
      name: `lists each of ${many} markers once, in order`,
      async check({ backend }) {
        await assertListings(backend, await putMarkers(backend, many), [1, many - 1]);
      },
    },
    {
      name: "lets a caller leave a listing of markers midway",
      async check({ backend }) {
        const stored = await putMarkers(backend, 4);
        for (let i = 0; i < 10; i++) {
          for await (const { name } of backend.listMarkers("")) {
            assert.equal(name, stored[0]);
            break;
          }
        }
        assert.deepEqual(await names(backend, ""), stored);
      },
    },
    {
      name: "lists every marker that remains while others are stored and deleted",
      async check({ backend }) {
        const [chain, other] = [chainOf("5"), chainOf("6")];
        const remaining = await putAll(backend, newMarkers(chain, 40));
        const transient = await putAll(backend, newMarkers(chain, 40));
        const seen: string[] = [];
        for await (const { name } of backend.listMarkers("")) {
          seen.push(name);
          await backend.deleteMarker(transient.pop() ?? newMarker());
          if (seen.length < 60) await backend.putMarker(newMarker(seen.length % 2 ? chain : other));
        }
        assert.deepEqual(seen, [...new Set(seen)].toSorted(), "a name twice, or out of order");
        for (const name of remaining) assert.ok(seen.includes(name), `${name} was not listed`);
      },
    },
    {
      name: "rejects a limit of markers that is not a number of them",
      async check({ backend }) {
        await backend.putMarker(newMarker());
        for (const limit of [0, -1, 1.5, Number.NaN]) {
          await fails(names(backend, "", { limit }), "usage");
        }
      },
    },
    {
      name: "does nothing with markers if the signal has fired before",
      async check({ backend }) {
        const [fresh, old] = [newMarker(), newMarker()];
        await backend.putMarker(old);
        await fails(backend.putMarker(fresh, fired()), "aborted");
        await fails(backend.deleteMarker(old, fired()), "aborted");
        await fails(names(backend, "", fired()), "aborted");
        await fails(backend.currentTime(fired()), "aborted");
        assert.deepEqual(await names(backend, ""), [old]);
      },
    },
    {
      name: "ends a listing of markers that is aborted midway",
      async check({ backend }) {
        await putMarkers(backend, 4);
        const controller = new AbortController();
        const listing = (async () => {
          for await (const _ of backend.listMarkers("", controller)) controller.abort();
        })();
        await fails(listing, "aborted");
      },
    },
  ];
  return [
    {
      name: "has all methods for markers, or none",
      async check({ backend }) {
        const found = METHODS.filter((method) => backend[method] !== undefined);
        assert.ok([0, METHODS.length].includes(found.length), `only ${found.join(", ")}`);
      },
    },
    ...cases.map(({ name, check }): Case => ({
      name,
      async check({ backend, reopen }) {
        if (!hasMarkers(backend)) return;
        await check({ backend, reopen: async () => (await reopen()) as WithMarkers });
      },
    })),
  ];
}

interface MarkerCase {
  readonly name: string;
  check(opened: { backend: WithMarkers; reopen(): Promise<WithMarkers> }): Promise<void>;
}

function hasMarkers(backend: Backend): backend is WithMarkers {
  return backend.putMarker !== undefined;
}

/** A chain that starts with the given digits. */
function chainOf(digits: string): string {
  return digits.padEnd(32, "0");
}

function newMarker(chain: string = newName().slice(0, 32)): string {
  const generation = toHex(crypto.getRandomValues(new Uint8Array(8)));
  return `${chain}/${generation}-${newName()}`;
}

function newMarkers(chain: string, count: number): string[] {
  return Array.from({ length: count }, () => newMarker(chain));
}

/** Stores markers of several chains, so many in the largest, and returns them in order. */
async function putMarkers(backend: WithMarkers, many: number): Promise<string[]> {
  const chains = [["0", 2], ["a0", 3], ["ab", many], ["ac", 2], ["ff", 2]] as const; // prettier-ignore
  return putAll(
    backend,
    chains.flatMap(([digits, count]) => newMarkers(chainOf(digits), count)),
  );
}

async function putAll(backend: WithMarkers, markers: readonly string[]): Promise<string[]> {
  const shuffled = markers.toSorted((a, b) => (a.slice(49) < b.slice(49) ? -1 : 1));
  for (let i = 0; i < shuffled.length; i += 16) {
    await Promise.all(shuffled.slice(i, i + 16).map((name) => backend.putMarker(name)));
  }
  return markers.toSorted();
}

async function names(
  backend: WithMarkers,
  prefix: string,
  options?: ListMarkersOptions,
): Promise<string[]> {
  const found: Marker[] = await Array.fromAsync(backend.listMarkers(prefix, options));
  return found.map(({ name }) => name);
}

/** Asserts that listings are right for prefixes, starts and limits of many kinds. */
async function assertListings(
  backend: WithMarkers,
  stored: readonly string[],
  limits: readonly number[],
): Promise<void> {
  assert.ok(stored.every((name) => isMarkerName(name)));
  assert.deepEqual(await names(backend, ""), stored);
  const middle = stored[stored.length >> 1]!;
  const chain = middle.slice(0, 32);
  const prefixes = ["", "a", "ab", chain, `${chain}/`, middle.slice(0, 40), middle, "b", "zz"];
  const afters = [
    "",
    chainOf("a0"),
    chain,
    `${chain}/`,
    middle,
    `${chain}/ffffffffffffffff`,
    middle.slice(0, 50),
    stored.at(-1)!,
    "g",
  ];
  for (const prefix of prefixes) {
    for (const after of afters) {
      const expected = stored.filter((name) => name.startsWith(prefix) && name > after);
      const what = `prefix "${prefix}" after "${after}"`;
      assert.deepEqual(await names(backend, prefix, { after }), expected, what);
      // Over a network, each listing takes a request.
      if (prefix !== "" && prefix !== `${chain}/`) continue;
      for (const limit of limits) {
        const some = await names(backend, prefix, { after, limit });
        assert.deepEqual(some, expected.slice(0, limit), `${what}, at most ${limit}`);
      }
    }
  }
}

function fired(): { signal: AbortSignal } {
  return { signal: AbortSignal.abort() };
}
