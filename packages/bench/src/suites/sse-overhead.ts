/**
 * The cost of server-side encryption: uploads and downloads of the same bytes with and without it, in
 * pairs of random order. Each is one request of the library's backend.
 */
import { sizeName, expectBytes, freshName, randomContent, sha256 } from "../harness/content.ts";
import { type Findings, isOpen, measurementOf, pairOf, labelsFor } from "../harness/results.ts";
import { exactTarget, sampledTarget } from "../harness/targets.ts";
import { type Scratch, withScratch, openBackend } from "../object-store/scratch.ts";
import type { Measurement } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { type Retrying, retrying } from "./sse-overhead/retrying.ts";
import { type Ways, chooseWays, encryptionOf } from "./sse-overhead/ways.ts";

const SIZE = 8e6;
const PAIRS = 30;

/** Encryption may take this many times the time without it, and this many seconds more. */
const TIMES = 1.25;
const SECONDS = 0.005;

/** While a target is inconclusive, pairs are added until there are this many times as many. */
const BUDGET = 3;

export async function sseOverhead(context: SuiteContext): Promise<Findings> {
  const { quick, sizes = [SIZE], options = {} } = context;
  const pairs = context.iterations ?? (quick ? 3 : PAIRS);
  const random = seededRandom(context.seed);
  const { retries = 5, baseDelayMs = 500 } = options;
  const retry = retrying(Number(retries), Number(baseDelayMs), random, context);
  return withScratch(context.store, "sse-overhead", async (scratch) => {
    const { result: ways } = await retry.run(() => chooseWays(scratch));
    const download = options["download"] !== false;
    const found: Measured[] = [];
    let removed = 0;
    for (const size of sizes) {
      const plan = { size, pairs, download, ways };
      found.push(...(await measureSize(plan, scratch, retry, random, context)));
      removed += await scratch.clear();
    }
    const left = await scratch.clear();
    const retried = retry.count();
    return {
      measurements: found.flatMap(({ measurements }) => measurements),
      pairs: found.flatMap((each) => each.pairs),
      targets: [
        ...found.map(({ target }) => target),
        exactTarget("objects left behind", left, "count", { most: 0 }),
      ],
      notes: [
        `${ways.note}; a HEAD request for each object checks this`,
        `${removed} objects were stored and removed afterwards`,
        ...(retried > 0
          ? [`${retried} requests failed and were retried; only successful attempts are timed`]
          : []),
      ],
    };
  });
}

interface Plan {
  readonly size: number;
  readonly pairs: number;
  readonly download: boolean;
  readonly ways: Ways;
}

type Measured = ReturnType<typeof evaluate>;

/** Seconds of one direction, by pair. */
interface Direction {
  readonly name: "upload" | "download";
  readonly base: number[];
  readonly head: number[];
}

async function measureSize(
  { size, pairs, download, ways }: Plan,
  scratch: Scratch,
  retry: Retrying,
  random: Random,
  { signal, log }: SuiteContext,
): Promise<Measured[]> {
  const upload: Direction = { name: "upload", base: [], head: [] };
  const back: Direction = { name: "download", base: [], head: [] };
  const directions = download ? [upload, back] : [upload];
  const backends = {
    // Waits would be timed: `retry` repeats requests.
    base: openBackend(scratch.at("base"), { retry: false }),
    head: openBackend(scratch.at("head"), { retry: false, encryption: ways.encryption }),
  };
  const content = randomContent(size);
  const hash = sha256(content);
  const buffer = new Uint8Array(size);
  const takePair = async (measured: boolean): Promise<void> => {
    const name = freshName();
    const order = random() < 0.5 ? (["base", "head"] as const) : (["head", "base"] as const);
    const details: string[] = [];
    const timed = async (to: Direction, way: "base" | "head", work: () => Promise<unknown>) => {
      signal.throwIfAborted();
      globalThis.Bun?.gc(true);
      const { seconds } = await retry.run(work);
      details.push(`${to.name}, ${ways[way]} ${(seconds * 1000).toFixed(1)} ms`);
      if (measured) to[way].push(seconds);
    };
    for (const way of order) {
      await timed(upload, way, () => backends[way].put(name, content, { signal, sha256: hash }));
      const { result: stored } = await retry.run(() => encryptionOf(scratch.at(way), name));
      if (stored !== ways.expected[way]) {
        throw new Error(
          `the server encrypted an object of "${ways[way]}" with ${stored}, not ${ways.expected[way]}`,
        );
      }
    }
    for (const way of download ? order : []) {
      buffer.fill(0);
      await timed(back, way, async () => {
        const length = await backends[way].get(name, buffer, { signal });
        if (length !== size) throw new Error(`got ${length} of ${size} bytes`);
      });
      expectBytes(buffer, hash);
    }
    log(`${measured ? `pair ${upload.base.length}` : "warm-up"}: ${details.join(", ")}`);
  };
  const results = () => directions.map((each) => evaluate(each, size, ways, random));
  try {
    await takePair(false);
    for (let planned = pairs; ; planned += Math.ceil(pairs / 2)) {
      while (upload.base.length < planned) await takePair(true);
      const found = results();
      if (planned >= BUDGET * pairs || !found.some(({ target }) => isOpen(target))) return found;
    }
  } finally {
    for (const backend of Object.values(backends)) await backend.close?.();
  }
}

/** The difference is judged pair by pair, because what a pair measured met the same conditions. */
function evaluate({ name, base, head }: Direction, size: number, ways: Ways, random: Random) {
  const measurements = (
    [
      [ways.base, base],
      [ways.head, head],
    ] as const
  ).map(([way, samples]) =>
    measurementOf(
      { ...labelsFor(size)(`${name}, ${way}`), table: `${name}s` },
      samples.map((seconds) => ({ seconds })),
      random,
    ),
  );
  const [plain, encrypted] = measurements as [Measurement, Measurement];
  const title = `${name} ${sizeName(size)}: ${ways.head} `;
  const beyond = head.map((seconds, i) => seconds - TIMES * base[i]!);
  const how = { unit: "seconds", kind: "wall", random } as const;
  return {
    measurements,
    pairs: base.length > 1 ? [pairOf(`${title}to ${ways.base}`, plain, encrypted, random)] : [],
    target: sampledTarget(`${title}beyond ${TIMES} × ${ways.base}`, beyond, { most: SECONDS }, how),
  };
}
