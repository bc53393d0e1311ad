/** Short operations that every put and get has: a root's header alone, keys, and wrapping content keys. */
import { diffieHellman, generateKeyPairSync, randomBytes } from "node:crypto";
import {
  type Identity,
  createStore,
  generateIdentity,
  loadNaCl,
  parseRecipient,
  publicKeyOf,
  recipientFromPublicKey,
  secretKeyOf,
} from "@idk/storage";
import { type RootHeader, decodeRootHeader, encodeRootHeader } from "@idk/storage/format";
import { memory } from "@idk/storage/memory";
import { libsodium } from "../../harness/bounds.ts";
import { expectBytes, sha256 } from "../../harness/content.ts";
import type { Findings } from "../../harness/results.ts";
import { sampleInterleaved } from "../../harness/sampling.ts";
import { ratioTarget } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";

/** Recipients, and the most CPU time of wrapping for them, to that of the bare boxes. */
const WRAPS = [
  [1, 2.5],
  [16, 1.5],
  [256, 1.3],
] as const;

export async function primitives(context: SuiteContext): Promise<Findings> {
  const { quick, signal } = context;
  const rounds = context.iterations ?? (quick ? 2 : 15);
  const wraps = await Promise.all(WRAPS.map(([recipients, times]) => wrapping(recipients, times)));
  const all = [...headers(), ...(await keys()), ...wraps.flat()];
  const tasks = all.map(({ name, calls, run, compare }) => ({
    name,
    series: name.split(", recipients")[0]!,
    calls: quick ? 1 : calls,
    run,
    async check(result: unknown) {
      const [bytes, expected = bytes] = await compare(result as never);
      if (bytes !== undefined) expectBytes(bytes, sha256(expected!));
    },
  }));
  const found = await sampleInterleaved(tasks, { rounds, signal }, (of) =>
    all.flatMap(({ name, most }) => {
      if (most === undefined) return [];
      const ratio = { of: of(name), to: of(most[0]), kind: "cpu" } as const;
      return ratioTarget(`${name}, to ${most[0]}`, ratio, { most: most[1] });
    }),
  );
  return {
    ...found,
    notes: [
      "A sample is the mean of up to 5,000 calls. After it, the result is compared with bytes that were put together here or computed by libsodium.",
      "To wrap is to put one byte into memory. Its bound is a public key, and a box for each recipient; with few recipients, the rest of a put shows. The bound of texts and headers is JSON with the parts of a header in base64.",
    ],
  };
}

type Operation = ReturnType<typeof operation>;

/**
 * @param most another operation, and the most CPU time as a multiple of its own
 * @param compare the bytes of a result, and those expected
 */
function operation(
  name: string,
  calls: number,
  run: () => unknown,
  most?: readonly [bound: string, times: number],
  compare: (result: never) => Uint8Array[] | Promise<Uint8Array[]> = () => [],
) {
  return { name, calls, run, most, compare };
}

const [JSON_OUT, JSON_IN] = ["JSON: write a header", "JSON: read a header"] as const;

function headers(): Operation[] {
  const [commitment, ephemeral, slot] = [randomBytes(32), randomBytes(32), randomBytes(48)];
  const header: RootHeader = { commitment, ephemeral, slots: [slot] };
  const [c, e, w] = ["a361635820", "61655820", "61775830"].map((hex) => Buffer.from(hex, "hex"));
  const bytes = Buffer.concat([c!, commitment, e!, ephemeral, w!, slot]);
  const parts = ({ commitment, ephemeral, slots }: RootHeader) =>
    Buffer.concat([commitment, ephemeral, ...slots]);
  const [encode, decode] = [() => encodeRootHeader(header), () => decodeRootHeader(bytes)];
  const write = () =>
    JSON.stringify([commitment, ephemeral, slot].map((part) => part.toString("base64")));
  const text = write();
  const read = () => (JSON.parse(text) as string[]).map((part) => Buffer.from(part, "base64"));
  const texts = (result: string) => [Buffer.from(result), Buffer.from(text)];
  const fields = (result: Buffer[]) => [Buffer.concat(result), parts(header)];
  return [
    operation("encode a header", 5000, encode, [JSON_OUT, 9], (result) => [result, bytes]),
    operation("decode a header", 5000, decode, [JSON_IN, 3], (result) => [
      parts(result),
      parts(header),
    ]),
    operation(JSON_OUT, 5000, write, undefined, texts),
    operation(JSON_IN, 5000, read, undefined, fields),
  ];
}

const [PUBLIC, SODIUM] = ["libsodium: public key", "libsodium: X25519"] as const;
const NODE = "node:crypto: X25519";

async function keys(): Promise<Operation[]> {
  const sodium = await libsodium();
  const [secret, key, shared] = [randomBytes(32), Buffer.alloc(32), Buffer.alloc(32)];
  const publicKey = (from: Uint8Array) => (sodium.crypto_scalarmult_base(key, from), key);
  const peer = Buffer.from(publicKey(randomBytes(32)));
  const agree = () => (sodium.crypto_scalarmult(shared, secret, peer), shared);
  const [{ privateKey }, other] = [generateKeyPairSync("x25519"), generateKeyPairSync("x25519")];
  const agreeInNode = () => diffieHellman({ privateKey, publicKey: other.publicKey });
  const [native, portable] = [await loadNaCl("native"), await loadNaCl("portable")];
  const recipient = recipientFromPublicKey(peer);
  const ofIdentity = (own: Identity) => [publicKeyOf(own.recipient), publicKey(secretKeyOf(own))];
  const shares = (result: Uint8Array) => [result, agree()];
  const texts = (result: string) => [Buffer.from(result), Buffer.from(recipient)];
  return [
    operation("generate an identity", 200, generateIdentity, [PUBLIC, 1.75], ofIdentity),
    operation(PUBLIC, 200, () => publicKey(randomBytes(32))),
    operation("X25519, native", 200, () => native.x25519(secret, peer), [SODIUM, 1.15], shares),
    operation("X25519, portable", 200, () => portable.x25519(secret, peer), [NODE, 2], shares),
    operation(SODIUM, 200, agree),
    operation(NODE, 200, agreeInNode),
    operation(
      "recipient of a public key",
      3000,
      () => recipientFromPublicKey(peer),
      [JSON_OUT, 6],
      texts,
    ),
    operation("parse a recipient", 3000, () => parseRecipient(recipient), [JSON_IN, 7], texts),
  ];
}

async function wrapping(recipients: number, times: number): Promise<Operation[]> {
  const sodium = await libsodium();
  const all = await Promise.all(Array.from({ length: recipients }, generateIdentity));
  const to = all.map(({ recipient }) => recipient);
  const store = createStore({ backend: memory(), recipients: to, identities: all.slice(-1) });
  const [content, slot, nonce] = [randomBytes(1), randomBytes(48), randomBytes(24)];
  const [secret, publicKeys] = [randomBytes(32), to.map(publicKeyOf)];
  const bound = `libsodium: boxes, recipients: ${recipients}`;
  const box = () => {
    sodium.crypto_scalarmult_base(slot.subarray(0, 32), secret);
    for (const key of publicKeys) sodium.crypto_box_easy(slot, secret, nonce, key, secret);
  };
  const calls = Math.ceil(200 / recipients);
  const read = async (address: string) => [await (await store.get(address)).bytes(), content];
  return [
    operation(
      `wrap, recipients: ${recipients}`,
      calls,
      () => store.put(content),
      [bound, times],
      read,
    ),
    operation(bound, calls, box),
  ];
}
