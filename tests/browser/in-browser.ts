/*
 * Runs in a page: checks the library against the known answers and against a tree that another runtime
 * wrote. library.test.ts bundles and starts it.
 */
import {
  type Address,
  StorageError,
  createStore,
  formatIdentity,
  generateIdentity,
  loadNaCl,
  parseIdentity,
  protectIdentity,
  readIdentityFile,
} from "@idk/storage";
import { memory } from "@idk/storage/memory";

export interface KnownCase {
  readonly content: string;
  readonly size: number;
  readonly contentSha256: string;
  readonly recipients: readonly number[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly chunkSizeLog2: number;
  readonly padding: "padme" | "none";
  readonly address: string;
}

export interface KnownAnswers {
  readonly dedupSecret: string;
  readonly identities: readonly { readonly identity: string }[];
  readonly cases: readonly KnownCase[];
}

/** A tree that another runtime stored, its blobs in base64. */
export interface Foreign {
  readonly identity: string;
  readonly address: string;
  readonly sha256: string;
  readonly blobs: readonly (readonly [name: string, bytes: string])[];
}

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../gu) ?? [], (digits) => Number.parseInt(digits, 16));
const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

function contentOf({ content, size }: KnownCase): Uint8Array<ArrayBuffer> {
  const quoted = /'(.*)'/u.exec(content)?.[1];
  if (quoted !== undefined) return new TextEncoder().encode(quoted);
  return Uint8Array.from({ length: size }, (_, i) => (7 * i + (i >> 8)) & 255);
}

/** Writes a known answer and reads it back. */
async function knownAnswer(
  answers: KnownAnswers,
  known: KnownCase,
): Promise<{ address: string; sha256: string }> {
  const identities = answers.identities.map(({ identity }) => parseIdentity(identity));
  await using store = createStore({
    backend: memory(),
    identities,
    recipients: known.recipients.map((i) => identities[i]!.recipient),
    dedupSecret: fromHex(answers.dedupSecret),
  });
  const address = await store.put(contentOf(known), {
    metadata: known.metadata,
    chunkSize: 2 ** known.chunkSizeLog2,
    padding: known.padding,
  });
  return { address, sha256: await sha256(await (await store.get(address)).bytes()) };
}

/** Reads a tree that another runtime wrote, as a web stream, and rewraps it for a new recipient. */
async function foreign(given: Foreign): Promise<{ whole: string; shared: string }> {
  const backend = memory();
  for (const [name, bytes] of given.blobs) {
    await backend.put(
      name,
      Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)),
    );
  }
  const store = createStore({ backend, identities: [parseIdentity(given.identity)] });
  const read = async (address: string, identities = [parseIdentity(given.identity)]) => {
    const blob = await store.get(address, { identities });
    return sha256(new Uint8Array(await new Response(blob.stream()).arrayBuffer()));
  };
  const other = await generateIdentity();
  const shared: Address = await store.rewrap(given.address, [other.recipient]);
  return { whole: await read(given.address), shared: await read(shared, [other]) };
}

/** What else differs between runtimes: NaCl, key files, codecs, streams, error codes. */
async function runtime(): Promise<Record<string, unknown>> {
  const identity = await generateIdentity();
  const protectedFile = await protectIdentity(identity, "a passphrase");
  const [again] = await readIdentityFile(protectedFile, "a passphrase");
  const backend = memory();
  const store = createStore({ backend, identities: [identity], recipients: [identity.recipient] });
  const text = "the same line again and again\n".repeat(100_000);
  const file = new File([text], "lines.txt");
  const address = await store.put(file.stream(), { compression: "auto", padding: "none" });
  const blob = await store.get(address, { range: { start: 30, end: 59 } });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: unknown) => (error instanceof StorageError ? error.code : String(error)),
    );
  const damaged = new Uint8Array((await backend.head(address))!.size);
  await backend.get(address, damaged);
  damaged[damaged.length - 1]! ^= 1;
  await backend.put(address, damaged);
  return {
    nacl: (await loadNaCl()).name,
    native: await codeOf(loadNaCl("native")),
    keyFile: formatIdentity(again!) === formatIdentity(identity),
    range: await blob.text(),
    zstd: await codeOf(store.put(text, { compression: "zstd" })),
    lz4: await codeOf(store.put(text, { compression: "lz4" })),
    damaged: await codeOf(store.get(address)),
  };
}

Object.assign(globalThis, { idk: { knownAnswer, foreign, runtime } });

export type InBrowser = {
  readonly knownAnswer: typeof knownAnswer;
  readonly foreign: typeof foreign;
  readonly runtime: typeof runtime;
};
