/** The parts of a put or a get, timed in the NaCl and the backend of a store, which callers can replace. */
import { type Backend, type NaCl, addressOf, wrapBackend } from "@idk/storage";
import { sizeName } from "../../harness/content.ts";
import { type Lane, type Sampling, type Task, sampleLanes } from "../../harness/sampling.ts";
import type { Measurement } from "../../report/report.ts";
import { ONE_BLOB } from "./passes.ts";

/** Length of a wrapped content key; the body of a blob is longer. */
const SLOT_LENGTH = 48;

/** Seconds of each part. */
export interface Parts {
  /** Sealing or opening the bodies of all blobs. */
  readonly cipher: number;
  /**
   * From the first key agreement of the root until its body: the recipients' slots, the header and
   * derived keys.
   */
  readonly header: number;
  /** SHA-256 over the same number of bytes as the blobs have. */
  readonly hash: number;
  /** Time with at least one upload or download in flight. */
  readonly transfer: number;
}

export interface PartsMeter {
  /** Pass these to the measured store. */
  readonly naCl: NaCl;
  readonly backend: Backend;
  /** Returns the parts since the last call. Hashing is repeated with the library's `addressOf`. */
  take(): Parts;
}

export function partsMeter(naCl: NaCl, inner: Backend): PartsMeter {
  let [cipher, header, transfer, inFlight, since] = [0, 0, 0, 0, 0];
  let keysFrom: number | undefined;
  let lengths: number[] = [];
  let sample = new Uint8Array(0);

  const agreeing = <T>(step: () => T): T => {
    keysFrom ??= performance.now();
    return step();
  };
  const body = <T>(box: Uint8Array, step: () => T): T => {
    if (box.length <= SLOT_LENGTH) return step();
    const start = performance.now();
    if (keysFrom !== undefined) header += start - keysFrom;
    keysFrom = undefined;
    try {
      return step();
    } finally {
      cipher += performance.now() - start;
    }
  };
  const moving = async <T>(step: () => Promise<T>): Promise<T> => {
    if (inFlight++ === 0) since = performance.now();
    try {
      return await step();
    } finally {
      if (--inFlight === 0) transfer += performance.now() - since;
    }
  };

  return {
    naCl: {
      name: naCl.name,
      seal: (box, ...rest) => body(box, () => naCl.seal(box, ...rest)),
      open: (message, box, ...rest) => body(box, () => naCl.open(message, box, ...rest)),
      x25519: (...keys) => agreeing(() => naCl.x25519(...keys)),
      publicKey: (...key) => agreeing(() => naCl.publicKey(...key)),
    },
    backend: wrapBackend(inner, {
      put: (put) => (name, bytes, options) => {
        lengths.push(bytes.length);
        return moving(() => put(name, bytes, options));
      },
      get: (get) => (name, buffer, options) =>
        moving(async () => {
          const length = await get(name, buffer, options);
          lengths.push(length);
          return length;
        }),
    }),
    take() {
      const longest = Math.max(0, ...lengths);
      if (sample.length < longest) sample = new Uint8Array(longest).fill(0xa5);
      const start = performance.now();
      for (const length of lengths) addressOf(sample.subarray(0, length));
      const hash = performance.now() - start;
      const [sealed, agreed, moved] = [cipher / 1000, header / 1000, transfer / 1000];
      [cipher, header, transfer, keysFrom, lengths] = [0, 0, 0, undefined, []];
      return { cipher: sealed, header: agreed, hash: hash / 1000, transfer: moved };
    },
  };
}

/**
 * Measures the parts of a metered operation on a content of a size. If they run one after another, there
 * is also a measurement of the rest; if they overlap, their sum is more than the whole.
 */
export async function measureParts(
  size: number,
  names: Readonly<Record<keyof Parts, string>>,
  meter: PartsMeter,
  { run, check }: Pick<Task, "run" | "check">,
  sampling: Sampling,
): Promise<readonly Measurement[]> {
  const keys = Object.keys(names) as (keyof Parts)[];
  const series = [...Object.values(names), ...(size <= ONE_BLOB ? ["rest"] : [])];
  const x = { value: size, unit: "bytes" } as const;
  const lane: Lane = {
    labels: series.map((part) => ({ name: `${sizeName(size)}: ${part}`, series: part, x })),
    async sample() {
      globalThis.Bun?.gc(true);
      meter.take();
      const start = performance.now();
      const result = await run();
      const whole = (performance.now() - start) / 1000;
      const parts = meter.take();
      await check?.(result);
      const all = keys.map((key) => parts[key]);
      const rest = all.reduce((left, seconds) => left - seconds, whole);
      const taken = [...all, Math.max(0, rest)].slice(0, series.length);
      return taken.map((seconds) => ({ seconds }));
    },
  };
  return (await sampleLanes([lane], sampling)).measurements;
}
