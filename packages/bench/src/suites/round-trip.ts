/** Shared code of encryption-perf and decryption-perf. */
import { type Backend, type Store, createStore, loadNaCl, wrapBackend } from "@idk/storage";
import { freshName, randomContent, sha256, sizeName } from "../harness/content.ts";
import { suiteIdentity } from "../harness/identity.ts";
import { type Sample, measurementOf } from "../harness/results.ts";
import { exactTarget } from "../harness/targets.ts";
import { openBackend } from "../object-store/scratch.ts";
import type { Measurement, Target } from "../report/report.ts";
import type { Random } from "../statistics/random.ts";
import type { Environment, ObjectStoreAccess, SuiteContext } from "../suite.ts";
import { type Parts, type PartsMeter, partsMeter } from "./parts.ts";

const MB: number = 1e6;

/** Content up to this size is in one blob, so that its parts run one after another. */
export const ONE_BLOB: number = 2 ** 20;

/** Bytes of content in a chunk of a larger content, and how many are in flight at once. */
export const CHUNK: number = 4 * 2 ** 20;
export const IN_FLIGHT = 4;

/** Content sizes in bytes, and rounds of each. */
const SIZES: readonly (readonly [number, number])[] = [
  [0.1 * MB, 60],
  [MB, 100],
  [10 * MB, 20],
];

export interface SizedRounds {
  readonly size: number;
  readonly rounds: number;
}

/** The sizes to measure, with their rounds. */
export function sizedRounds({
  quick,
  sizes = SIZES.map(([size]) => size),
  iterations,
}: Pick<SuiteContext, "quick" | "sizes" | "iterations">): SizedRounds[] {
  const roundsOf = new Map(SIZES);
  return sizes.map((size) => ({
    size,
    rounds: iterations ?? (quick ? 3 : (roundsOf.get(size) ?? 20)),
  }));
}

/** An object for a bare request. */
export interface BareObject {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** The content as the objects that a store would make of it: one, or one for each chunk. */
export function bareObjects(content: Uint8Array<ArrayBuffer>): BareObject[] {
  const step = content.length <= ONE_BLOB ? content.length : CHUNK;
  return Array.from({ length: Math.ceil(content.length / step) }, (_, i) => {
    const bytes = content.slice(i * step, (i + 1) * step);
    return { name: freshName(), bytes, sha256: sha256(bytes) };
  });
}

/** Opens stores over one folder, for one identity. Contents are not padded: all transfer the same bytes. */
export interface Stores {
  /** @param wrap decorates the backend */
  open(wrap?: (backend: Backend) => Backend): Store;
  /** A store and the meter of its parts. */
  openMetered(): Promise<{ readonly store: Store; readonly meter: PartsMeter }>;
}

export async function storesIn(access: ObjectStoreAccess, env: Environment): Promise<Stores> {
  const identity = await suiteIdentity(env);
  const options = {
    recipients: [identity.recipient],
    identities: [identity],
    padding: "none",
  } as const;
  return {
    open: (wrap = (backend) => backend) =>
      createStore({ ...options, backend: wrap(openBackend(access)) }),
    async openMetered() {
      const meter = partsMeter(await loadNaCl(), openBackend(access));
      const store = createStore({ ...options, backend: meter.backend, nacl: meter.naCl });
      return { store, meter };
    },
  };
}

/** Milliseconds for which each request waits for the next ones, which take far less to be prepared. */
const GATHERING = 250;

/**
 * A target for the chunks that an operation of a store with default settings has in flight at once. It is
 * exact, and needed because a store nearby is hardly slower one chunk after another.
 *
 * @param way of the operation
 * @param run stores or reads the content, longer than `IN_FLIGHT` chunks
 */
export async function inFlightTarget(
  stores: Stores,
  way: "put" | "get",
  run: (store: Store, content: Uint8Array<ArrayBuffer>) => Promise<unknown>,
): Promise<Target> {
  let [now, most] = [0, 0];
  const held = async <T>(request: () => Promise<T>): Promise<T> => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, GATHERING));
    return request().finally(() => (now -= 1));
  };
  await using store = stores.open((backend) =>
    wrapBackend(
      backend,
      way === "put"
        ? {
            put:
              (put) =>
              (...call) =>
                held(() => put(...call)),
          }
        : {
            get:
              (get) =>
              (...call) =>
                held(() => get(...call)),
          },
    ),
  );
  await run(store, randomContent((IN_FLIGHT + 1) * CHUNK));
  return exactTarget(`${way}: chunks in flight at once`, most, "count", { least: IN_FLIGHT });
}

/**
 * Measures the parts of a metered operation. If they run one after another, there is also a measurement
 * of the rest; if they overlap, their sum is more than the whole. Parts have no targets, so half the
 * rounds are enough.
 *
 * @param names of the parts in the suite
 */
export async function measureParts(
  { size, rounds }: SizedRounds,
  names: Readonly<Record<keyof Parts, string>>,
  meter: PartsMeter,
  run: () => Promise<unknown>,
  { random, signal }: { readonly random: Random; readonly signal: AbortSignal },
): Promise<Measurement[]> {
  const samples = new Map<string, Sample[]>();
  const note = (name: string, seconds: number): void => {
    samples.set(name, [...(samples.get(name) ?? []), { seconds }]);
  };
  for (let round = -1; round < Math.ceil(rounds / 2); round++) {
    signal.throwIfAborted();
    globalThis.Bun?.gc(true);
    meter.take();
    const start = performance.now();
    await run();
    const whole = (performance.now() - start) / 1000;
    const parts = meter.take();
    if (round < 0) continue;
    for (const part of Object.keys(names) as (keyof Parts)[]) note(names[part], parts[part]);
    const sum = parts.cipher + parts.header + parts.hash + parts.transfer;
    if (size <= ONE_BLOB) note("rest", Math.max(0, whole - sum));
  }
  return [...samples].map(([part, taken]) =>
    measurementOf(
      { name: `${sizeName(size)}: ${part}`, series: part, x: { value: size, unit: "bytes" } },
      taken,
      random,
    ),
  );
}
