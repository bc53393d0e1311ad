/**
 * Sealing and opening messages, by size: the library's XSalsa20-Poly1305, the same by libsodium called
 * directly, other ciphers, and age, a whole file format. Answers whether the native NaCl costs more
 * than libsodium, and whether JavaScript is faster at any size (docs/decisions/0002).
 */
import { createCipheriv, createDecipheriv, getRandomValues } from "node:crypto";
import { type NaCl, loadNaCl } from "@idk/storage";
import { secretbox } from "tweetnacl";
import { libsodium } from "../../harness/bounds.ts";
import { expectBytes, noise, sha256, sizeName } from "../../harness/content.ts";
import { type Findings, type Lookup, labelsFor, together } from "../../harness/results.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { type Bound, ratioTarget } from "../../harness/targets.ts";
import type { Target } from "../../report/report.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";

/** In bytes. The shortest is a content key, which the library seals for each recipient. */
const SIZES = [32, 1000, 100_000, 1e6, 16e6];

/** Bytes in a sample, so that it takes some 10 ms. A call takes as long as some hundred bytes more. */
const [SAMPLE, CALL] = [16e6, 300];

/** Rounds of ciphers without targets. */
const ROUNDS_SHOWN = 2;

/** The most CPU time that the native NaCl may take, to libsodium called directly. */
const TIMES = 1.25;
/** Longer messages do not fit into caches, so that memory decides more than the cipher. */
const [LONG, TIMES_LONG] = [4e6, 1.5];

/**
 * The most CPU time of the portable NaCl, to libsodium, which uses vector instructions where the processor
 * has them; and to tweetnacl, which is JavaScript too, so that this ratio is the same on other processors.
 */
const [TIMES_PORTABLE, TIMES_TWEETNACL] = [25, 1];
/** Up to this many bytes, calls decide more than the cipher. */
const [SHORT, TIMES_TWEETNACL_SHORT] = [10_000, 6];

export async function ciphers(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1000, 1e6] : SIZES);
  const rounds = context.iterations ?? (quick ? 2 : 6);
  const content = noise(Math.max(...sizes), seededRandom(seed));
  const { judged, shown } = await allCiphers();
  const parts: Findings[] = [];
  for (const size of sizes) {
    context.log(`${sizeName(size)}, ${rounds} rounds`);
    const calls = SAMPLE / (size + CALL) / (quick ? 20 : 1);
    const tasks = async (own: readonly Cipher[]) =>
      (
        await Promise.all(own.map((cipher) => tasksOf(cipher, content.slice(0, size), calls)))
      ).flat();
    const [few, sampling] = [Math.min(rounds, ROUNDS_SHOWN), { rounds, signal }];
    parts.push(
      await sampleInterleaved(await tasks(judged), sampling, (of) => targetsFor(size, of)),
      await sampleInterleaved(await tasks(shown), { ...sampling, rounds: few }),
    );
  }
  return {
    ...together(parts),
    notes: [
      "Every cipher takes a new nonce for each message and writes into memory that exists and was touched. AES-256-GCM and age can only allocate their results: compare them with the lines `new memory`.",
      "All but age use an existing key. age creates a key for the file and wraps it for one X25519 recipient.",
      "A sample is the mean of many calls, if they are short. After it, what was opened is compared by SHA-256, and what was sealed is opened for that.",
    ],
  };
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
  const ways = {
    seal: { run: () => seal(message), opened: (result: Sealed) => open(result) },
    open: { run: () => open(sealed), opened: (result: Uint8Array) => result },
  };
  return Object.entries(ways).map(([way, { run, opened }]) => {
    const check = async (result: unknown) => expectBytes(await opened(result as never), hash);
    return Object.assign(labels(`${name}, ${way}`), { calls, run, check });
  });
}

function targetsFor(size: number, of: Lookup): Target[] {
  const most = size < LONG ? TIMES : TIMES_LONG;
  return ["seal", "open"].flatMap((way) => {
    const title = `${sizeName(size)}: ${way} by the`;
    const by = (whose: string) => of(`XSalsa20-Poly1305, ${whose}, ${way} ${sizeName(size)}`);
    const target = (whose: string, to: string, bound: Bound) => {
      const ratio = { of: by(whose), to: by(to), kind: "cpu" } as const;
      return ratioTarget(`${title} ${whose} NaCl to ${to}`, ratio, bound);
    };
    // Faster JavaScript would be a reason to use it.
    const portable = target("portable", "libsodium", { least: 1, most: TIMES_PORTABLE });
    return [
      target("native", "libsodium", { most }),
      Object.assign(portable, { ownBoundOnly: true as const }),
      target("portable", "tweetnacl", {
        most: size < SHORT ? TIMES_TWEETNACL_SHORT : TIMES_TWEETNACL,
      }),
    ];
  });
}

/** A sealed message in parts, because joining them would copy everything. */
type Sealed = readonly Uint8Array[];

interface Cipher {
  readonly name: string;
  /** Calls in a sample, as a fraction of those of the other ciphers. */
  readonly calls?: number;
  /** Prepares the key and memory for messages of a length in bytes. */
  prepare(length: number): {
    /** @returns borrowed; valid until the next call */
    seal(content: Uint8Array): Sealed | Promise<Sealed>;
    /**
     * @returns the content, borrowed; valid until the next call
     * @throws Error if the bytes were changed
     */
    open(sealed: Sealed): Uint8Array | Promise<Uint8Array>;
  };
}

/**
 * The ciphers with targets, and the others.
 *
 * @throws Error if libsodium does not load: without it there is nothing to compare
 */
export async function allCiphers(): Promise<Record<"judged" | "shown", Cipher[]>> {
  const sodium = await libsodium();
  const { crypto_secretbox_easy: seal, crypto_secretbox_open_easy: open } = sodium;
  const [native, portable] = [await loadNaCl("native"), await loadNaCl("portable")];
  const chacha20: Functions = {
    nonceLength: 12,
    seal: (box, message, ...keys) =>
      void sodium.crypto_aead_chacha20poly1305_ietf_encrypt(box, message, null, null, ...keys),
    open: (message, box, ...keys) =>
      sodium.crypto_aead_chacha20poly1305_ietf_decrypt(message, null, box, null, ...keys) > 0,
  };
  return {
    judged: [
      inMemory("XSalsa20-Poly1305, native", native),
      { ...inMemory("XSalsa20-Poly1305, portable", portable), calls: 0.1 },
      { ...inMemory("XSalsa20-Poly1305, tweetnacl", tweetnacl), calls: 0.1 },
      inMemory("XSalsa20-Poly1305, libsodium", { seal, open }),
    ],
    shown: [
      inMemory("XSalsa20-Poly1305, native, new memory", native, true),
      inMemory("ChaCha20-Poly1305", chacha20),
      inMemory("ChaCha20-Poly1305, new memory", chacha20, true),
      aes,
      await age(),
    ],
  };
}

/** By default, a nonce has 24 bytes. */
type Functions = Pick<NaCl, "seal" | "open"> & { readonly nonceLength?: number };

const TAG = 16;

/** A cipher that writes into memory that exists and was touched, or into new memory. */
function inMemory(
  name: string,
  { seal, open, nonceLength = 24 }: Functions,
  allocate = false,
): Cipher {
  return {
    name,
    prepare(length) {
      const touched = (bytes: number) => new Uint8Array(bytes).fill(1);
      const [key, nonce] = [getRandomValues(touched(32)), touched(nonceLength)];
      const [box, opened] = [touched(length + TAG), touched(length)];
      return {
        seal(content) {
          const into = allocate ? new Uint8Array(length + TAG) : box;
          seal(into, content, getRandomValues(nonce), key);
          return [nonce, into];
        },
        open([from, sealed]) {
          const into = allocate ? new Uint8Array(length) : opened;
          if (!open(into, sealed!, from!, key)) throw new Error(`${name}: forged`);
          return into;
        },
      };
    },
  };
}

/** It can only allocate; the copy costs little beside the cipher. */
const tweetnacl: Functions = {
  seal: (box, message, nonce, key) => box.set(secretbox(message, nonce, key)),
  open(message, box, nonce, key) {
    const opened = secretbox.open(box, nonce, key);
    if (opened !== null) message.set(opened);
    return opened !== null;
  },
};

/** AES-256-GCM of `node:crypto`, which can only allocate. */
const aes: Cipher = {
  name: "AES-256-GCM, new memory",
  prepare() {
    const [key, nonce] = [getRandomValues(new Uint8Array(32)), new Uint8Array(12)];
    return {
      seal(content) {
        const cipher = createCipheriv("aes-256-gcm", key, getRandomValues(nonce));
        return [nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()];
      },
      open([from, text, , tag]) {
        const decipher = createDecipheriv("aes-256-gcm", key, from!, { authTagLength: TAG });
        decipher.setAuthTag(tag!);
        const content = decipher.update(text!);
        decipher.final();
        return content;
      },
    };
  },
};

/** The age format for one X25519 recipient in JavaScript: ChaCha20-Poly1305 in chunks of 64 KiB. */
async function age(): Promise<Cipher> {
  const { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } =
    await import("age-encryption");
  const identity = await generateX25519Identity();
  const [encrypter, decrypter] = [new Encrypter(), new Decrypter()];
  encrypter.addRecipient(await identityToRecipient(identity));
  decrypter.addIdentity(identity);
  return {
    name: "age, new memory",
    calls: 0.002,
    prepare: () => ({
      seal: async (content) => [await encrypter.encrypt(content)],
      open: ([file]) => decrypter.decrypt(file!),
    }),
  };
}
