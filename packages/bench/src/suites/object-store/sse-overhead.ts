/**
 * The cost of server-side encryption: uploads and downloads of the same bytes with and without it, in
 * pairs of random order. Each is one request of the library's backend.
 */
import { type Backend, withRetry, wrapBackend } from "@idk/storage";
import { expectBytes, freshName, randomContent, sha256, sizeName } from "../../harness/content.ts";
import { type Findings, labelsFor, lookup, pairOf, together } from "../../harness/results.ts";
import { sampleLanes } from "../../harness/sampling.ts";
import { exactTarget, sampledTarget } from "../../harness/targets.ts";
import { type Scratch, openBackend, withScratch } from "../../object-store/scratch.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { type Ways, chooseWays, encryptionOf } from "./sse-ways.ts";

const SIZE = 8e6;
const PAIRS = 30;

/** Encryption may take this many times the time without it, and this many seconds more. */
const TIMES = 1.25;
const SECONDS = 0.005;

const SIDES = ["base", "head"] as const;
type Side = (typeof SIDES)[number];

export async function sseOverhead(context: SuiteContext): Promise<Findings> {
  const { sizes = [SIZE], options = {} } = context;
  const [most, baseDelayMs] = [options["retries"] ?? 5, options["baseDelayMs"] ?? 500].map(Number);
  const retries: Retries = { most: most!, baseDelayMs: baseDelayMs!, count: 0, seconds: 0 };
  return withScratch(context.store, "sse-overhead", async (scratch) => {
    const ways = await chooseWays(scratch.at("trial"));
    const parts: Findings[] = [];
    let removed = 0;
    for (const size of sizes) {
      parts.push(await measureSize(size, ways, scratch, retries, context));
      removed += await scratch.clear();
    }
    const left = await scratch.clear();
    const found = together(parts);
    return {
      ...found,
      targets: [...found.targets, exactTarget("objects left behind", left, "count", { most: 0 })],
      notes: [
        `${ways.note}; a HEAD request for each object checks this`,
        `${removed} objects were stored and removed afterwards`,
        ...(retries.count > 0
          ? [`${retries.count} requests were retried; only successful attempts are timed`]
          : []),
      ],
    };
  });
}

/** How often a request is repeated, and what the suite's requests took. */
export interface Retries {
  /** Of a request, 0 or more. */
  readonly most: number;
  /** Before the first, at most; doubled for each further one, up to 30 s. */
  readonly baseDelayMs: number;
  /** So far. */
  count: number;
  /** Seconds of the latest attempt that was successful, without the waits before it. */
  seconds: number;
}

/** Repeats failed puts and gets of a backend, whose time `withRetry` alone would not separate from the waits. */
export function timed(backend: Backend, retries: Retries, log: SuiteContext["log"]): Backend {
  const attempt =
    <Call extends unknown[], T>(request: (...call: Call) => Promise<T>) =>
    async (...call: Call): Promise<T> => {
      const start = performance.now();
      const result = await request(...call);
      retries.seconds = (performance.now() - start) / 1000;
      return result;
    };
  return withRetry(wrapBackend(backend, { put: attempt, get: attempt }), {
    minAttempts: retries.most + 1,
    firstDelayMs: retries.baseDelayMs,
    maxDelayMs: 30_000,
    onRetry({ attempt: failed, delayMs, error }) {
      if (failed > retries.most) throw error;
      retries.count += 1;
      log(`retrying in ${delayMs} ms: ${error.message}`);
    },
  });
}

/** The difference is judged pair by pair, because what a pair measured met the same conditions. */
async function measureSize(
  size: number,
  ways: Ways,
  scratch: Scratch,
  retries: Retries,
  { quick, iterations, seed, signal, options, log }: SuiteContext,
): Promise<Findings> {
  const random = seededRandom(seed);
  const content = randomContent(size);
  const hash = sha256(content);
  const buffer = new Uint8Array(size);
  const opened = (side: Side, encryption?: Ways["encryption"]): Backend =>
    timed(openBackend(scratch.at(side), { retry: false, encryption }), retries, log);
  const backends = { base: opened("base"), head: opened("head", ways.encryption) };

  const upload = async (side: Side, name: string): Promise<number> => {
    await backends[side].put(name, content, { signal, sha256: hash });
    const { seconds } = retries;
    const [stored, expected] = [await encryptionOf(scratch.at(side), name), ways.expected[side]];
    if (stored === expected) return seconds;
    throw new Error(
      `the server encrypted an object of "${ways[side]}" with ${stored}, not ${expected}`,
    );
  };
  const download = async (side: Side, name: string): Promise<number> => {
    buffer.fill(0);
    const length = await backends[side].get(name, buffer, { signal });
    if (length !== size) throw new Error(`got ${length} of ${size} bytes`);
    expectBytes(buffer, hash);
    return retries.seconds;
  };
  const directions = Object.entries({
    upload,
    ...(options?.["download"] !== false && { download }),
  });
  /** Uploads to both sides in random order, then downloads from both in the same. */
  const sample = async () => {
    const name = freshName();
    const order = random() < 0.5 ? SIDES : SIDES.toReversed();
    const samples: { readonly seconds: number }[] = [];
    for (const [direction, transfer] of directions) {
      const taken = { base: 0, head: 0 };
      for (const side of order) {
        signal.throwIfAborted();
        globalThis.Bun?.gc(true);
        taken[side] = await transfer(side, name);
        log(`${direction}, ${ways[side]} ${(taken[side] * 1000).toFixed(1)} ms`);
      }
      samples.push({ seconds: taken.base }, { seconds: taken.head });
    }
    return samples;
  };

  const labelsOf = (direction: string, side: Side) => {
    return { ...labelsFor(size)(`${direction}, ${ways[side]}`), table: `${direction}s` };
  };
  const labels = directions.flatMap(([direction]) =>
    SIDES.map((side) => labelsOf(direction, side)),
  );
  const rounds = iterations ?? (quick ? 3 : PAIRS);
  const how = { unit: "seconds", kind: "wall" } as const;
  try {
    const sampled = await sampleLanes([{ labels, sample }], { rounds, signal }, (of) =>
      directions.map(([direction]) => {
        const [base, head] = SIDES.map((side) => of(labelsOf(direction, side).name).samples);
        const beyond = head!.map((seconds, i) => seconds - TIMES * base![i]!);
        const name = `${direction} ${sizeName(size)}: ${ways.head} beyond ${TIMES} × ${ways.base}`;
        return sampledTarget(name, beyond, { most: SECONDS }, how);
      }),
    );
    if (rounds === 1) return sampled;
    const of = lookup(sampled.measurements);
    const pairs = directions.map(([direction]) => {
      const [base, head] = SIDES.map((side) => of(labelsOf(direction, side).name));
      const name = `${direction} ${sizeName(size)}: ${ways.head} to ${ways.base}`;
      return pairOf(name, base!, head!);
    });
    return { ...sampled, pairs };
  } finally {
    for (const backend of Object.values(backends)) await backend.close?.();
  }
}
