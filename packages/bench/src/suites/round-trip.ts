/** Shared code of encryption-perf and decryption-perf. */
import { createHash, randomBytes } from "node:crypto";
import { type Backend, type Store, createStore, generateIdentity, loadNaCl } from "@idk/storage";
import { sizeName } from "../harness/content.ts";
import { type Observed, measurementOf } from "../harness/results.ts";
import { targetOf } from "../harness/targets.ts";
import { openBackend } from "../object-store/scratch.ts";
import type { Measurement, Target } from "../report/report.ts";
import type { Random } from "../statistics/random.ts";
import type { ObjectStoreAccess, SuiteContext } from "../suite.ts";
import { type Parts, type PartsMeter, partsMeter } from "./parts.ts";

const MB: number = 1e6;

/** Content up to this size is in one blob, so that its parts run one after another. */
const ONE_BLOB = 2 ** 20;

/** Content sizes in bytes, and rounds of each. */
const SIZES: readonly (readonly [number, number])[] = [
  [0.1 * MB, 60],
  [MB, 200],
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

export function randomContent(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(randomBytes(size));
}

/** 64 hex digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A unique object name. */
export function freshName(): string {
  return randomBytes(32).toString("hex");
}

/** Seals and opens a content of the given size with the library's secretbox. */
export async function secretbox(size: number): Promise<{ seal(): void; open(): void }> {
  const naCl = await loadNaCl();
  const message = randomContent(size);
  const key = randomContent(32);
  const nonce = randomContent(24);
  const box = new Uint8Array(size + 16);
  naCl.seal(box, message, nonce, key);
  return {
    seal: () => naCl.seal(box, message, nonce, key),
    open() {
      if (!naCl.open(message, box, nonce, key)) throw new Error("a secretbox does not open");
    },
  };
}

/** Opens stores over one folder, for one identity. Contents are not padded: all transfer the same bytes. */
export interface Stores {
  /** @param wrap decorates the backend */
  open(wrap?: (backend: Backend) => Backend): Store;
  /** A store and the meter of its parts. */
  openMetered(): Promise<{ readonly store: Store; readonly meter: PartsMeter }>;
}

export async function storesIn(access: ObjectStoreAccess): Promise<Stores> {
  const identity = await generateIdentity();
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

/**
 * Measures the parts of a metered operation. If they run one after another, there is also a measurement
 * of the rest; if they overlap, their sum is more than the whole.
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
  const samples = new Map<string, Observed[]>();
  const note = (name: string, seconds: number): void => {
    samples.set(name, [...(samples.get(name) ?? []), { seconds }]);
  };
  for (let round = -1; round < rounds; round++) {
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

/** A bound in seconds on the median of a measurement; none if it was not measured. */
export function medianTarget(
  name: string,
  measurements: readonly Measurement[],
  measured: string,
  most: number,
): Target[] {
  const found = measurements.find((measurement) => measurement.name === measured);
  return found ? [targetOf(name, found.distribution.p50, "seconds", { most })] : [];
}

/** Reads all pieces without copying and returns their total length. */
export async function lengthOf(pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of pieces) length += piece.length;
  return length;
}
