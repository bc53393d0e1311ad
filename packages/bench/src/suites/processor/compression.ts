/** Puts with each compression, by kind of content: CPU time, and the bytes stored. */
import { open } from "node:fs/promises";
import { constants, zstdCompressSync } from "node:zlib";
import { generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import lz4 from "lz4-napi";
import { boundsFor } from "../../harness/bounds.ts";
import { expectBytes, noise, sha256 } from "../../harness/content.ts";
import { storeOf } from "../../harness/identity.ts";
import { type Findings, together } from "../../harness/results.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { exactTarget, ratioTarget } from "../../harness/targets.ts";
import type { Counter } from "../../report/report.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";
import { KINDS, mixedFiles } from "./mixed-files.ts";

const COMPRESSIONS = ["none", "lz4", "zstd", "auto"] as const;
type Compression = (typeof COMPRESSIONS)[number];
const MIB = 2 ** 20;
const RANDOM = "random bytes";
const EXECUTABLE = "executable";

/**
 * The most CPU time of a put, to that of the bare codec, secretbox and SHA-256; and the same for bytes
 * that do not compress, where the codec gives up early and the checksum of the frame shows.
 */
const TIMES = { zstd: [1.7, 1.9], lz4: [2.3, 3.2] } as const;

/** The most CPU time of `auto` for bytes that do not compress, to a put without compression. */
const IN_VAIN = 1.15;

/** The bare codecs, with the library's settings. They return the compressed length. */
const CODECS = {
  zstd(content: Buffer): number {
    const params = { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 };
    return zstdCompressSync(content, { params }).length;
  },
  lz4(content: Buffer): number {
    let length = 0;
    for (let i = 0; i < content.length; i += 2 ** 18) {
      length += lz4.compressSync(content.subarray(i, i + 2 ** 18)).length;
    }
    return length;
  },
} as const;

export async function compression(context: SuiteContext): Promise<Findings> {
  const { quick, seed } = context;
  const [longest = (quick ? 1 : 16) * MIB] = context.sizes ?? [];
  const all = await contents(longest, seed);
  const parts = await Array.fromAsync(all, (each) => measure(...each, context));
  const { notes: shares, ...found } = together(parts);
  return {
    ...found,
    notes: [
      `Stored bytes, as shares of the content: ${shares.join("; ")}.`,
      "The bound of a codec is node:zlib or lz4-napi on the same bytes, then secretbox and SHA-256 of as many as it leaves. Everything is read back and compared by SHA-256 after each sample.",
    ],
  };
}

/** Random bytes of a length, others of half; all but the executable depend on the seed only. */
async function contents(longest: number, seed: number): Promise<[string, Buffer][]> {
  const files = mixedFiles(60, 2 * longest, seed);
  const mixed = KINDS.map((kind): [string, Buffer] => {
    const own = files.filter((file) => file.kind === kind).map(({ content }) => content);
    return [kind, Buffer.concat(own).subarray(0, longest / 2)];
  });
  const executable = Buffer.alloc(longest / 2);
  await using file = await open(process.execPath);
  const { bytesRead } = await file.read(executable, 0, executable.length, 0);
  const random = Buffer.from(noise(longest, seededRandom(seed)));
  return [...mixed, [EXECUTABLE, executable.subarray(0, bytesRead)], [RANDOM, random]];
}

async function measure(
  kind: string,
  content: Buffer,
  { quick, iterations, signal, log }: SuiteContext,
): Promise<Findings> {
  log(`${kind}, ${content.length} bytes`);
  const { length: bytesPerOperation } = content;
  const hash = sha256(content);
  const stored = new Map<Compression, number>();
  let sum = 0;
  const backend = wrapBackend(memory({ idleBytes: 3 * bytesPerOperation }), {
    put: (put) => (name, bytes, options) => {
      sum += bytes.length;
      return put(name, bytes, options);
    },
  });
  await using store = storeOf(await generateIdentity(), { backend, padding: "none" });
  const putWith = (compression: Compression): Task => ({
    name: `${kind}, ${compression}`,
    series: compression,
    bytesPerOperation,
    prepare: () => (sum = 0),
    run: () => store.put(content, { compression }),
    async check(result) {
      stored.set(compression, sum);
      const address = result as string;
      expectBytes(await (await store.get(address)).bytes({ maxBytes: bytesPerOperation }), hash);
      await store.deleteTree(address);
    },
  });
  const bare = async (codec: keyof typeof CODECS): Promise<Task> => {
    const { seal, hash } = await boundsFor(CODECS[codec](content));
    const run = () => (CODECS[codec](content), seal(), hash());
    return { name: `${kind}, bare ${codec}`, series: `bare ${codec}`, bytesPerOperation, run };
  };
  const share = (compression: Compression) => stored.get(compression)! / bytesPerOperation;
  const rounds = iterations ?? (quick ? 2 : 5);
  const sampling = { rounds, signal };
  const judged: Compression[] = kind === RANDOM ? [...COMPRESSIONS] : ["lz4", "zstd"];
  // The others only show what they store.
  const others = COMPRESSIONS.filter((each) => !judged.includes(each)).map(putWith);
  const shown = await sampleInterleaved(others, { ...sampling, rounds: Math.min(rounds, 2) });
  const tasks = [...judged.map(putWith), await bare("zstd"), await bare("lz4")];
  const sampled = await sampleInterleaved(tasks, sampling, (of) => {
    const inVain = share("lz4") < 1 ? 0 : 1;
    const limits: [own: Compression, to: string, most: number][] = [
      ["zstd", "bare zstd", TIMES.zstd[inVain]],
      ["lz4", "bare lz4", TIMES.lz4[inVain]],
    ];
    if (kind === RANDOM) limits.push(["auto", "none", IN_VAIN]);
    return limits.map(([own, to, most]) => {
      const sides = { of: of(`${kind}, ${own}`), to: of(`${kind}, ${to}`), kind: "cpu" } as const;
      return ratioTarget(`${kind}: put with ${own}, to ${to}`, sides, { most });
    });
  });
  const auto = `${kind}: stored with auto, to lz4`;
  const most = 1.01 * stored.get("lz4")!;
  const counters = COMPRESSIONS.map((name): Counter => {
    const value = stored.get(name)!;
    return { name: `${kind}: stored with ${name}`, value, unit: "bytes", tolerance: 0.01 };
  });
  return together([
    shown,
    sampled,
    {
      targets: [exactTarget(auto, stored.get("auto")!, "bytes", { most })],
      // The executable depends on the platform.
      counters: kind === EXECUTABLE ? [] : counters,
      notes: [
        `${kind} ${COMPRESSIONS.map((name) => `${name} ${share(name).toFixed(3)}`).join(", ")}`,
      ],
    },
  ]);
}
