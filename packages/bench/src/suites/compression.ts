/** Puts with each compression, by kind of content: CPU time, and the bytes stored. */
import { open } from "node:fs/promises";
import { constants, zstdCompressSync } from "node:zlib";
import { createStore, generateIdentity, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import lz4 from "lz4-napi";
import { boundsFor } from "../harness/bounds.ts";
import { noise, expectBytes, sha256 } from "../harness/content.ts";
import { type Findings, type Lookup } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { exactTarget, ratioTarget } from "../harness/targets.ts";
import type { Counter, Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { KINDS, mixedFiles } from "./blob-pipeline/mixed-files.ts";

const COMPRESSIONS = ["none", "lz4", "zstd", "auto"] as const;
const MIB = 2 ** 20;

/**
 * The most CPU time of a put, to that of the bare codec, secretbox and SHA-256; and the same for bytes
 * that do not compress, where the codec gives up early and the checksum of the frame shows.
 */
const TIMES = { zstd: [1.7, 1.9], lz4: [2.3, 3.2] } as const;

/** The most CPU time of `auto` for bytes that do not compress, to a put without compression. */
const IN_VAIN = 1.15;

/** The bare codecs, with the library's settings. */
const CODECS = {
  zstd(content: Buffer): number {
    const params = { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 };
    return zstdCompressSync(content, { params }).length;
  },
  lz4(content: Buffer): number {
    const blocks = Array.from({ length: Math.ceil(content.length / 2 ** 18) }, (_, i) =>
      lz4.compressSync(content.subarray(i * 2 ** 18, (i + 1) * 2 ** 18)),
    );
    return blocks.reduce((sum, { length }) => sum + length, 0);
  },
} as const;

export async function compression(context: SuiteContext): Promise<Findings> {
  const { quick, seed } = context;
  const [longest = (quick ? 1 : 16) * MIB] = context.sizes ?? [];
  const found: (Sampled & { readonly counters: readonly Counter[]; readonly note: string })[] = [];
  for (const [kind, content] of await contents(longest, seed)) {
    context.log(`${kind}, ${content.length} bytes`);
    found.push(await measure(kind, content, context));
  }
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    counters: found.flatMap(({ counters }) => counters),
    notes: [
      `Stored bytes, as shares of the content: ${found.map(({ note }) => note).join("; ")}.`,
      "The bound of a codec is node:zlib or lz4-napi on the same bytes, then secretbox and SHA-256 of as many as it leaves. Everything is read back and compared by SHA-256 after each sample.",
    ],
  };
}

/** Contents of at most a length, mixed files of half; all but the executable depend on the seed only. */
async function contents(longest: number, seed: number): Promise<[string, Buffer][]> {
  const files = mixedFiles(60, 2 * longest, seed);
  const mixed = KINDS.map((kind): [string, Buffer] => {
    const own = files.filter((file) => file.kind === kind).map(({ content }) => content);
    return [kind, Buffer.concat(own).subarray(0, longest / 2)];
  });
  const executable = Buffer.alloc(longest);
  await using file = await open(process.execPath);
  const { bytesRead } = await file.read(executable, 0, longest, 0);
  const random = Buffer.from(noise(longest, seededRandom(seed)));
  return [...mixed, ["executable", executable.subarray(0, bytesRead)], ["random bytes", random]];
}

async function measure(
  kind: string,
  content: Buffer,
  { quick, iterations, signal, seed }: SuiteContext,
) {
  const hash = sha256(content);
  const random = seededRandom(seed);
  const identity = await generateIdentity();
  const stored: Record<string, number> = {};
  let sum = 0;
  const backend = wrapBackend(memory({ idleBytes: 3 * content.length }), {
    put: (put) => (name, bytes, options) => {
      sum += bytes.length;
      return put(name, bytes, options);
    },
  });
  const keys = { recipients: [identity.recipient], identities: [identity] };
  await using store = createStore({ backend, padding: "none", ...keys });
  const task = (series: string, run: Task["run"], check?: Task["check"]): Task => {
    const labels = { name: `${kind}, ${series}`, series, bytesPerOperation: content.length };
    return { ...labels, run, ...(check && { check }) };
  };
  const puts = COMPRESSIONS.map((compression) =>
    task(
      compression,
      () => {
        sum = 0;
        return store.put(content, { compression });
      },
      async (address) => {
        stored[compression] = sum;
        expectBytes(
          await (await store.get(address as string)).bytes({ maxBytes: content.length }),
          hash,
        );
        await store.deleteTree(address as string);
      },
    ),
  );
  const bounds = await Promise.all(
    (["zstd", "lz4"] as const).map(async (name) => {
      const { seal, hash } = await boundsFor(CODECS[name](content));
      return task(`bare ${name}`, () => {
        CODECS[name](content);
        seal();
        hash();
      });
    }),
  );
  const targetsOf = (of: Lookup): Target[] => {
    const ratio = (name: string, to: string, most: number) => {
      const sides = { of: of(`${kind}, ${name}`), to: of(`${kind}, ${to}`), kind: "cpu" } as const;
      return ratioTarget(`${kind}: put with ${name}, to ${to}`, sides, { most }, random);
    };
    const most = 1.01 * stored["lz4"]!;
    const inVain = stored["lz4"]! < content.length ? 0 : 1;
    return [
      ratio("zstd", "bare zstd", TIMES.zstd[inVain]),
      ratio("lz4", "bare lz4", TIMES.lz4[inVain]),
      ...(kind === "random bytes" ? [ratio("auto", "none", IN_VAIN)] : []),
      exactTarget(`${kind}: stored with auto, to lz4`, stored["auto"]!, "bytes", { most }),
    ];
  };
  const rounds = iterations ?? (quick ? 2 : 5);
  const sampled = await sampleInterleaved(
    [...puts, ...bounds],
    { rounds, signal, seed },
    targetsOf,
  );
  const shares = COMPRESSIONS.map(
    (name) => `${name} ${(stored[name]! / content.length).toFixed(3)}`,
  );
  const counters = COMPRESSIONS.map((name): Counter => {
    return {
      name: `${kind}: stored with ${name}`,
      value: stored[name]!,
      unit: "bytes",
      tolerance: 0.01,
    };
  });
  // The executable depends on the platform.
  return {
    ...sampled,
    counters: kind === "executable" ? [] : counters,
    note: `${kind} ${shares.join(", ")}`,
  };
}
