/**
 * The time to seal and open a file with each cipher, by size: the store's XSalsa20-Poly1305 in both
 * implementations, other ciphers of the runtime, and age, a whole file format.
 */
import { loadNaCl } from "@idk/storage";
import { noise, sizeName } from "../harness/content.ts";
import type { Findings } from "../harness/results.ts";
import { type Task, sampleInterleaved, sampleMicro } from "../harness/sampling.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { type Cipher, ageCipher, nodeCipher, secretbox } from "./ciphers/cipher.ts";

/** Files up to this size are too short to be timed one by one. */
const MICRO_MOST = 100_000;

export async function ciphers(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1000, 1e6] : [1000, 100_000, 1e6, 16e6]);
  const rounds = context.iterations ?? (quick ? 2 : 10);
  const content = noise(Math.max(...sizes), seededRandom(seed));
  const { present, absent } = await availableCiphers();

  const tasks = await Promise.all(
    sizes.flatMap((size) => present.map((cipher) => tasksOf(cipher, content.subarray(0, size)))),
  );
  const [small, large] = [true, false].map((micro) =>
    tasks.flat().filter((task) => task.bytesPerOperation! <= MICRO_MOST === micro),
  ) as [Task[], Task[]];
  context.log(`${present.map(({ name }) => name).join(", ")}; ${sizes.map(sizeName).join(", ")}`);
  return {
    measurements: [
      ...(await sampleMicro(small, { seconds: quick ? 0.05 : 0.25, signal, seed })),
      ...(await sampleInterleaved(large, { rounds, signal, seed })),
    ],
    notes: [
      "XSalsa20-Poly1305 writes into existing memory, as in the store; the interfaces of the others allocate new memory each time.",
      "AES and ChaCha20 use an existing key; age also creates a key for the file and wraps it for one X25519 recipient.",
      ...absent.map((reason) => `not measured: ${reason}`),
    ],
  };
}

async function availableCiphers(): Promise<{ present: Cipher[]; absent: string[] }> {
  const found: (Cipher | string)[] = [
    await loadNaCl("native").then(
      (naCl) => secretbox("XSalsa20-Poly1305, native", naCl),
      () => "XSalsa20-Poly1305, native: sodium-native does not load here",
    ),
    secretbox("XSalsa20-Poly1305, portable", await loadNaCl("portable")),
    nodeCipher("AES-256-GCM", "aes-256-gcm"),
    nodeCipher("ChaCha20-Poly1305", "chacha20-poly1305"),
    await ageCipher(),
  ];
  return {
    present: found.filter((cipher) => typeof cipher !== "string"),
    absent: found.filter((cipher) => typeof cipher === "string"),
  };
}

/** Tasks to seal and open, after checking that opening returns the content. */
async function tasksOf({ name, prepare }: Cipher, content: Uint8Array): Promise<Task[]> {
  const { seal, open } = prepare(content.length);
  const sealed = (await seal(content)).map((part) => part.slice());
  const opened = await open(sealed);
  if (Buffer.compare(opened, content) !== 0) throw new Error(`${name} returned other bytes`);
  const task = (way: string, run: () => unknown): Task => ({
    name: `${name}, ${way} ${sizeName(content.length)}`,
    series: `${name}, ${way}`,
    x: { value: content.length, unit: "bytes" },
    bytesPerOperation: content.length,
    run,
  });
  return [task("seal", () => seal(content)), task("open", () => open(sealed))];
}
