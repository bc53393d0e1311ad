/** Ways to store a folder of files: stores with different options, and a classic pipeline. */
import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Identity, type Store, type StoreOptions, loadNaCl } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { compressFrame, decompressFrame } from "lz4-napi";
import { sum } from "simple-statistics";
import { putAll, storeOf } from "../../harness/identity.ts";
import { mean } from "../../statistics/describe.ts";
import { partsMeter } from "../object-store/parts.ts";

export interface Source {
  readonly name: string;
  readonly path: string;
  readonly length: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** Seconds per stage of one file, in the order of the stages. */
export type StageTimes = Readonly<Record<string, number>>;

export interface Contender {
  readonly names: readonly [string, ...string[]];
  /** Whether equal files give equal blobs. */
  readonly repeats: boolean;
  /** Stores all files once, in a folder that does not exist yet. */
  pass(sources: readonly Source[], folder: string): Promise<Pass>;
}

interface Pass {
  /** For each name. */
  readonly seconds: readonly number[];
  /** For each file, if it is known. */
  readonly stages?: readonly StageTimes[];
  readBack(index: number): Promise<Uint8Array>;
}

export const CLASSIC = "classic";
export const CLASSIC_OLD = "classic, fewer iterations";
export const KEYLESS = "classic, without its keys";

/** The contenders with a target, and the others, of which `auto` stores other mixes of files as well. */
export function contenders(
  identity: Identity,
  seed: number,
): Record<"judged" | "shown", Contender[]> & { readonly auto: Contender } {
  const own = (
    name: string,
    options: Partial<StoreOptions> = {},
    putFiles = oneByOne,
  ): Contender => ({
    names: [`idk, ${name}`],
    repeats: options.dedupSecret !== undefined,
    async pass(sources, folder) {
      const store = storeIn(folder, identity, options);
      const start = performance.now();
      const addresses = await putFiles(store, sources);
      const seconds = [(performance.now() - start) / 1000];
      return { seconds, readBack: async (i) => (await store.get(addresses[i]!)).bytes() };
    },
  });
  return {
    judged: [
      classic([CLASSIC, KEYLESS], ITERATIONS),
      own("random"),
      own("convergent", { dedupSecret: new Uint8Array(32).fill(seed) }),
    ],
    shown: [
      classic([CLASSIC_OLD], ITERATIONS_OLD),
      own("random, 16 at once", {}, (store, sources) =>
        putAll(
          store,
          sources.map(({ path }) => Bun.file(path)),
        ),
      ),
      own("random, not compressed", { compression: "none" }),
    ],
    auto: own("random, zstd where it pays", { compression: "auto" }),
  };
}

/** Like the classic pipeline, compresses with LZ4 and does not wait for the disk. */
function storeIn(folder: string, identity: Identity, options: Partial<StoreOptions>): Store {
  const backend = filesystem(folder, { durability: "none" });
  return storeOf(identity, { backend, compression: "lz4", ...options });
}

function oneByOne(store: Store, sources: readonly Source[]): Promise<string[]> {
  return Array.fromAsync(sources, async ({ path }) => store.put(await readFile(path)));
}

/** A store whose parts are timed for each file, one after another. */
export function staged(identity: Identity): Contender {
  return {
    names: ["idk"],
    repeats: false,
    async pass(sources, folder) {
      const meter = partsMeter(await loadNaCl(), filesystem(folder, { durability: "none" }));
      const store = storeIn(folder, identity, { backend: meter.backend, nacl: meter.naCl });
      const [addresses, stages]: [string[], StageTimes[]] = [[], []];
      for (const { path } of sources) {
        const { lap, times } = stopwatch();
        const bytes = await readFile(path);
        lap("read");
        addresses.push(await store.put(bytes));
        lap("put");
        const { header: key, cipher: encrypt, hash, transfer: write } = meter.take();
        lap("hash");
        await compressFrame(bytes);
        lap("compress");
        const { read = 0, put = 0, compress = 0 } = times;
        const rest = Math.max(0, put - compress - key - encrypt - hash - write);
        stages.push({ read, compress, key, encrypt, hash, rest, write });
      }
      return {
        seconds: [],
        stages,
        readBack: async (i) => (await store.get(addresses[i]!)).bytes(),
      };
    },
  };
}

/** Assigns the time since the last lap to a stage. For one file. */
function stopwatch() {
  const times: Record<string, number> = {};
  let last = performance.now();
  const lap = (stage: string): void => {
    const now = performance.now();
    times[stage] = (now - last) / 1000;
    last = now;
  };
  return { lap, times };
}

/** Recommended by OWASP for SHA-256 (Password Storage Cheat Sheet) and used by password managers. */
export const ITERATIONS = 600_000;

/** Recommended before 2021 and still common in code. */
export const ITERATIONS_OLD = 100_000;

/** A key takes as long for every file, so the classic pipeline derives real ones for one file of these. */
export const KEY_EVERY = 66;

function classic(names: Contender["names"], iterations: number): Contender {
  return {
    names,
    repeats: false,
    async pass(sources, folder) {
      await mkdir(folder);
      const target = (index: number) => join(folder, `${sources[index]!.name}.json`);
      const real = (index: number) => index % KEY_EVERY === 0;
      const taken: StageTimes[] = [];
      for (const [i, { path }] of sources.entries()) {
        taken.push(await storeClassic(path, target(i), real(i) ? iterations : 1));
      }
      const key = mean(taken.filter((_, i) => real(i)).map((times) => times["key"]!));
      const stages = taken.map((times, i) => (real(i) ? times : Object.assign(times, { key })));
      const all = sum(stages.flatMap(Object.values<number>));
      const keyless = all - sum(stages.map((times) => times["key"]!));
      const seconds = [all, keyless].slice(0, names.length);
      return { seconds, stages, readBack: (index) => loadClassic(target(index)) };
    },
  };
}

const PASSWORD = "correct horse battery staple";
const keyOf = (salt: Uint8Array, iterations: number) =>
  promisify(pbkdf2)(PASSWORD, salt, iterations, 32, "sha256");

/**
 * A common way to encrypt a file with a password: PBKDF2 derives a key for each file from its own salt, and
 * the result is a JSON document with base64 fields.
 */
export async function storeClassic(
  source: string,
  target: string,
  iterations: number,
): Promise<StageTimes> {
  const { lap, times } = stopwatch();
  const content = await readFile(source);
  lap("read");
  const compressed = await compressFrame(content);
  lap("compress");
  const salt = randomBytes(16);
  const key = await keyOf(salt, iterations);
  lap("key");
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  const data = Buffer.concat([cipher.update(compressed), cipher.final()]);
  const parts = { salt, iv, tag: cipher.getAuthTag(), data };
  lap("encrypt");
  const fields = Object.entries(parts).map(([name, part]) => [name, part.toString("base64")]);
  lap("base64");
  const json = JSON.stringify({ version: 1, iterations, ...Object.fromEntries(fields) });
  lap("json");
  await writeFile(target, json);
  lap("write");
  return times;
}

/** @throws Error if the document was changed */
export async function loadClassic(path: string): Promise<Uint8Array> {
  const { iterations, ...fields } = JSON.parse(await readFile(path, "utf8"));
  const part = (name: string) => Buffer.from(fields[name], "base64");
  const decipher = createDecipheriv(
    "aes-256-gcm",
    await keyOf(part("salt"), iterations),
    part("iv"),
  );
  decipher.setAuthTag(part("tag"));
  return decompressFrame(Buffer.concat([decipher.update(part("data")), decipher.final()]));
}
