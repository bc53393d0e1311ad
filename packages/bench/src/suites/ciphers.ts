/**
 * Sealing and opening messages, by size: the library's XSalsa20-Poly1305, the same by libsodium called
 * directly, other ciphers, and age, a whole file format. Answers whether the native NaCl costs more
 * than libsodium, and whether JavaScript is faster at any size (docs/decisions/0002).
 */
import { loadNaCl } from "@idk/storage";
import { libsodium } from "../harness/bounds.ts";
import { noise, sizeName, expectBytes, sha256 } from "../harness/content.ts";
import { type Findings, type Lookup, labelsFor } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import type { Target } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { type Cipher, type Sealed, aes, age, chacha20, secretbox } from "./ciphers/cipher.ts";

/** In bytes. The shortest is a content key, which the library seals for each recipient. */
const SIZES = [32, 1000, 100_000, 1e6, 16e6];

/** Bytes in a sample, and calls at most: enough for CPU time to be measured. */
const SAMPLE = 2e6;
const CALLS_MOST = 2000;

/** The most CPU time that the native NaCl may take, to libsodium called directly. */
const TIMES = 1.25;
/** Longer messages do not fit into caches, so that memory decides more than the cipher. */
const [LONG, TIMES_LONG] = [4e6, 1.5];

export async function ciphers(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1000, 1e6] : SIZES);
  const rounds = context.iterations ?? (quick ? 2 : 6);
  const random = seededRandom(seed);
  const content = noise(Math.max(...sizes), random);
  const all = await allCiphers();
  const found: Sampled[] = [];
  for (const size of sizes) {
    context.log(`${sizeName(size)}, ${rounds} rounds`);
    const message = content.slice(0, size);
    const calls = Math.min(CALLS_MOST, SAMPLE / size) / (quick ? 20 : 1);
    const tasks = await Promise.all(all.map((cipher) => tasksOf(cipher, message, calls)));
    const targetsOf = (of: Lookup) => targetsFor(size, of, random);
    found.push(await sampleInterleaved(tasks.flat(), { rounds, signal, seed }, targetsOf));
  }
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    notes: [
      "Every cipher takes a new nonce for each message and writes into memory that exists and was touched. AES-256-GCM and age can only allocate their results: compare them with the lines `new memory`.",
      "All but age use an existing key. age creates a key for the file and wraps it for one X25519 recipient.",
      `A sample is the mean of up to ${CALLS_MOST} calls. After it, what was opened is compared by SHA-256, and what was sealed is opened for that.`,
    ],
  };
}

/** @throws Error if libsodium does not load: without it there is nothing to compare */
async function allCiphers(): Promise<Cipher[]> {
  const sodium = await libsodium();
  const { crypto_secretbox_easy: seal, crypto_secretbox_open_easy: open } = sodium;
  return [
    ...secretbox("native", await loadNaCl("native")),
    secretbox("portable", await loadNaCl("portable"))[0],
    secretbox("libsodium", { seal, open })[0],
    ...chacha20(sodium),
    aes,
    await age(),
  ];
}

async function tasksOf(
  { name, calls: fraction = 1, prepare }: Cipher,
  message: Uint8Array,
  most: number,
): Promise<Task[]> {
  const { seal, open } = prepare(message.length);
  const sealed = (await seal(message)).map((part) => part.slice());
  const hash = sha256(message);
  const labels = labelsFor(message.length);
  const calls = Math.ceil(fraction * most);
  return [
    {
      ...labels(`${name}, seal`),
      calls,
      run: () => seal(message),
      check: async (result) => expectBytes(await open(result as Sealed), hash),
    },
    {
      ...labels(`${name}, open`),
      calls,
      run: () => open(sealed),
      check: (opened) => expectBytes(opened as Uint8Array, hash),
    },
  ];
}

function targetsFor(size: number, of: Lookup, random: Random): Target[] {
  return ["seal", "open"].flatMap((way) => {
    const title = `${sizeName(size)}: ${way} by the`;
    const [native, portable, direct] = ["native", "portable", "libsodium"].map((own) =>
      of(`XSalsa20-Poly1305, ${own}, ${way} ${sizeName(size)}`),
    );
    const [toDirect, toNative] = [
      { of: native!, to: direct!, kind: "cpu" },
      { of: portable!, to: native!, kind: "cpu" },
    ] as const;
    return [
      ratioTarget(
        `${title} native NaCl to libsodium`,
        toDirect,
        { most: size < LONG ? TIMES : TIMES_LONG },
        random,
      ),
      ratioTarget(`${title} portable NaCl to the native one`, toNative, { least: 1 }, random),
    ];
  });
}
