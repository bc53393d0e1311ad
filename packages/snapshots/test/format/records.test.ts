import { describe, expect, test } from "bun:test";
import { type CborItem, decodeCborT, encodeCborT } from "@idk/storage/blobs";
import fc from "fast-check";
import { type ErrorCode, parseIdentity } from "@idk/storage";
import { acceptsOnlyCanonical, answers, fails, fromHex, toHex } from "../support.ts";
import {
  decodeHead,
  decodePayload,
  encodeHead,
  encodePayload,
} from "../../src/format/records/head.ts";
import { decodeSessionSecrets, encodeSessionSecrets } from "../../src/format/records/keys.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/format/records/snapshot.ts";
import { decodeReach, encodeReach } from "../../src/format/records/reach.ts";
import { hash, head, reach, repository, session, snapshot } from "./arbitraries.ts";
import { mutated } from "./mutations.ts";
import { ownerKeyOf, signPayload } from "../../src/format/keys/writer.ts";

test("the known snapshot, reaches and heads are decoded and encoded", () => {
  for (const { content } of answers.snapshot) {
    expect(toHex(encodeSnapshot(decodeSnapshot(fromHex(content))))).toBe(content);
  }
  for (const { content } of answers.reach) {
    expect(toHex(encodeReach(decodeReach(fromHex(content))))).toBe(content);
  }
  const owner = ownerKeyOf(parseIdentity(answers.identity.identity));
  const kinds = answers.head.map((vector) => {
    const decoded = decodeHead(fromHex(vector.content));
    const payload = encodePayload(decoded.head);
    expect(toHex(payload)).toBe(vector.payload);
    expect(toHex(encodeHead({ payload, signature: signPayload(owner, payload) }))).toBe(
      vector.content,
    );
    return decoded.head.kind;
  });
  expect(kinds).toEqual(["repo", "part", "snap"]);
});

const sessionSecrets = fc.record({
  repository,
  secrets: fc.array(fc.tuple(session, hash), { maxLength: 4 }).map((entries) => new Map(entries)),
});

interface Case {
  readonly values: fc.Arbitrary<unknown>;
  readonly encode: (value: unknown) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly code: ErrorCode;
}

function kind<T>(
  values: fc.Arbitrary<T>,
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
  code: ErrorCode,
): Case {
  return { values, encode: encode as (value: unknown) => Uint8Array, decode, code };
}

const KINDS: Readonly<Record<string, Case>> = {
  snapshots: kind(snapshot, encodeSnapshot, decodeSnapshot, "tree"),
  reaches: kind(reach, encodeReach, decodeReach, "tree"),
  keys: kind(sessionSecrets, encodeSessionSecrets, decodeSessionSecrets, "tree"),
  heads: kind(head, encodePayload, decodePayload, "head"),
};

describe.each(Object.entries(KINDS))("%s", (_, { values, encode, decode, code }) => {
  test("survive", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(decode(encode(value))).toEqual(value);
      }),
      { numRuns: 300 },
    );
  });

  test("have one encoding: a mutated one is another or refused", () => {
    fc.assert(
      fc.property(mutated(values.map(encode)), (bytes) => {
        acceptsOnlyCanonical(bytes, decode, encode, code);
      }),
      { numRuns: 1000 },
    );
  });

  test("have exactly their keys", () => {
    fc.assert(
      fc.property(values, fc.nat(), (value, at) => {
        const fields = decodeCborT(encode(value)) as Map<string, CborItem>;
        const keys = [...fields.keys()];
        const less = new Map(fields);
        less.delete(keys[at % keys.length]!);
        fails(() => decode(encodeCborT(less)), code);
        fails(() => decode(encodeCborT(new Map([...fields, ["y", 0]]))), code);
        fails(() => decode(encodeCborT(new Map([...fields, ["v", 2]]))), code, "version");
      }),
    );
  });

  test("of other shapes are refused", () => {
    for (const item of [0, null, "", [], new Map(), new Uint8Array(0), [new Uint8Array(0), 0]]) {
      fails(() => decode(encodeCborT(item)), code);
    }
    fails(() => decode(new Uint8Array(0)), code);
    fails(() => decode(new Uint8Array(2 ** 20 + 1)), code);
  });
});

/** A known record with one field changed. */
function known(bytes: string, key: string, value: CborItem): Uint8Array {
  const fields = decodeCborT(fromHex(bytes)) as Map<string, CborItem>;
  return encodeCborT(new Map([...fields, [key, value]]));
}

describe("what a snapshot must not have", () => {
  const [{ content }] = answers.snapshot as [(typeof answers.snapshot)[0]];
  const fields = decodeCborT(fromHex(content)) as Map<string, CborItem>;
  const row = new Uint8Array(64);
  row.set(fromHex(answers.metadataPack.sid));
  const name = fromHex("61");
  const sessions = (count: number) =>
    new Map([
      ...(fields.get("k") as Map<string, CborItem>),
      ...Array.from({ length: count }, (_, i) => [i.toString(16).padStart(32, "0"), name] as const),
    ]);
  test.each<[string, string, CborItem]>([
    ["a repository of 15 bytes", "r", new Uint8Array(15)],
    ["a chain of 17 bytes", "c", new Uint8Array(17)],
    ["a tree id of 31 bytes", "h", new Uint8Array(31)],
    ["a root in a row of 63 bytes", "t", [[new Uint8Array(63), 0, 1, name]]],
    ["a root of a session without key", "t", [[new Uint8Array(64), 0, 1, name]]],
    ["an empty root node", "t", [[row, 0, 0, name]]],
    ["a root node beyond its frame", "t", [[row, 2 ** 22, 1, name]]],
    [
      "root nodes out of order",
      "t",
      [
        [row, 0, 1, name],
        [row, 1, 1, name],
      ],
    ],
    ["a session in upper case", "k", new Map([...sessions(0), ["A".repeat(32), name]])],
    ["a session of 31 digits", "k", new Map([...sessions(0), ["a".repeat(31), name]])],
    ["an empty session key", "k", new Map([...sessions(0), ["a".repeat(32), new Uint8Array(0)]])],
    ["513 sessions", "k", sessions(512)],
    ["a host of bytes", "n", name],
    ["a user of bytes", "u", name],
    ["paths of text", "p", ["/a"]],
    ["excludes of bytes", "x", [name]],
    ["a negative start", "a", -1],
    ["totals without files", "s", new Map([["dirs", 0]])],
  ])("%s", (_, key, value) => {
    fails(() => decodeSnapshot(known(content, key, value)), "tree");
  });
  test("but it may have 512 sessions, and an empty root", () => {
    expect(decodeSnapshot(known(content, "k", sessions(511))).sessionKeys.size).toBe(512);
    expect(decodeSnapshot(known(content, "t", [])).root).toEqual([]);
  });
});

describe("what a reach must not have", () => {
  const [{ content }] = answers.reach as [(typeof answers.reach)[0]];
  const one = new Uint8Array(32).fill(1);
  const list = (...bytes: number[]) =>
    new Uint8Array(Buffer.concat(bytes.map((byte) => Buffer.alloc(32, byte))));
  test.each<[string, string, CborItem]>([
    ["33 reaches before it", "f", Array.from({ length: 33 }, () => one)],
    ["a reach of 31 bytes before it", "f", [one.subarray(1)]],
    ["33 bytes of packs added", "a", new Uint8Array(33)],
    ["packs added twice", "a", list(1, 1)],
    ["packs dropped out of order", "d", list(2, 1)],
    ["no packs dropped, but null", "d", null],
  ])("%s", (_, key, value) => {
    fails(() => decodeReach(known(content, key, value)), "tree");
  });
});

describe("what a head must not have", () => {
  const [repo, part, snap] = answers.head.map(({ payload }) => payload) as [string, string, string];
  const address = new Uint8Array(32);
  const settings = (grace: number, ...rules: CborItem[]): CborItem =>
    new Map<string, CborItem>([
      ["g", grace],
      ["w", rules],
    ]);
  test.each<[string, string, string, CborItem]>([
    ["another kind", snap, "k", "none"],
    ["a kind of bytes", snap, "k", address],
    ["a snapshot and the kind part", snap, "k", "part"],
    ["no snapshot", snap, "s", null],
    ["no reach", part, "x", null],
    ["a snapshot in the chain of settings", snap, "n", ""],
    ["a snapshot in the chain of forgetting", part, "n", "."],
    ["settings in a named chain", repo, "n", "home"],
    ["a name with a newline", snap, "n", "a\n"],
    ["a name with a dot", snap, "n", ".a"],
    ["a name of 256 bytes", snap, "n", "a".repeat(256)],
    ["a generation that is negative", snap, "g", -1],
    ["65 heads before it", snap, "p", Array.from({ length: 65 }, () => address)],
    ["a writer of low order", snap, "w", address],
    ["a writer that is not canonical", snap, "w", new Uint8Array(32).fill(0xff)],
    ["markers, and does not forget", snap, "o", [new Uint8Array(56)]],
    ["a message of bytes", snap, "m", address],
    ["tags of bytes", snap, "l", [address]],
    ["settings, and another kind", snap, "z", settings(3600)],
    ["a grace period below an hour", repo, "z", settings(3599)],
    ["a rule of three", repo, "z", settings(3600, [null, "*", 0])],
    ["a rule that closes nothing", repo, "z", settings(3600, [null, "*", 0, null])],
    ["a rule that closes and lets forget", repo, "z", settings(3600, [null, "*", 1, 5])],
    [
      "a right that is 2",
      repo,
      "z",
      settings(3600, [fromHex(answers.owner.publicKey), "*", 2, null]),
    ],
    ["a rule for a key of low order", repo, "z", settings(3600, [address, "*", 0, null])],
    ["an address with settings", repo, "s", address],
  ])("%s", (_, payload, key, value) => {
    fails(() => decodePayload(known(payload, key, value)), "head");
  });

  test("more than 8,192 markers, or one that is malformed", () => {
    const marker = fromHex(answers.head[0]!.inO);
    const forget = (...markers: Uint8Array[]) => {
      const fields = decodeCborT(fromHex(part)) as Map<string, CborItem>;
      const changes: [string, CborItem][] = [
        ["k", "forget"],
        ["n", "."],
        ["x", null],
        ["o", markers],
      ];
      return decodePayload(encodeCborT(new Map([...fields, ...changes])));
    };
    const many = Array.from({ length: 8192 }, () => marker);
    const decoded = forget(...many);
    expect(decoded.kind === "forget" && decoded.markers.length).toBe(8192);
    fails(() => forget(...many, marker), "head");
    fails(() => forget(marker.subarray(1)), "head");
    // A generation of 2^53.
    fails(() => forget(new Uint8Array(56)), "head");
  });

  test("a signature of 63 bytes, or none", () => {
    const payload = fromHex(snap);
    fails(() => decodeHead(encodeCborT([payload, new Uint8Array(63)])), "head");
    fails(() => decodeHead(encodeCborT([payload])), "head");
    fails(() => decodeHead(encodeCborT([payload, new Uint8Array(64), 0])), "head");
  });
});
