import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import nacl from "tweetnacl";
import type { BlobKind, ChildKind } from "../../src/crypto/key-schedule.ts";
import { nativeNaCl } from "../../src/crypto/nacl/nacl-native.ts";
import { portableNaCl } from "../../src/crypto/nacl/nacl-portable.ts";
import { addressOf } from "../../src/crypto/address.ts";
import { openChild, openChildAt, openRoot, sealChild, sealRoot } from "../../src/crypto/seal.ts";
import { StorageError } from "../../src/errors.ts";
import { fails } from "../format/fails.ts";

const contentKey = Uint8Array.from({ length: 32 }, (_, i) => 3 * i);
const ephemeralSecret = new Uint8Array(32).fill(77);
const keys = { contentKey, ephemeralSecret };
const [alice, bob, eve] = [1, 2, 3].map((n) =>
  nacl.box.keyPair.fromSecretKey(new Uint8Array(32).fill(n)),
) as [nacl.BoxKeyPair, nacl.BoxKeyPair, nacl.BoxKeyPair];
const text = Uint8Array.from(Buffer.from("the plaintext"));

const kdf = (salt: Uint8Array, info: string) =>
  new Uint8Array(crypto.hkdfSync("sha256", contentKey, salt, info, 32));

/** A blob of the format around a header, sealed with tweetnacl and node:crypto. */
function independentBlob(header: Uint8Array, kind: BlobKind, plaintext: Uint8Array): Buffer {
  const prefix = Buffer.concat([Buffer.from("49444b010000", "hex"), header]);
  prefix.writeUInt16BE(header.length, 4);
  const bodyKey = kdf(crypto.createHash("sha256").update(prefix).digest(), `idk/v1/${kind}`);
  return Buffer.concat([prefix, nacl.secretbox(plaintext, new Uint8Array(24), bodyKey)]);
}

const commitment = kdf(new Uint8Array(0), "idk/v1/commit");
const childHeader = Buffer.concat([Buffer.from("a161635820", "hex"), commitment]);

const KINDS = ["leaf", "node"] as const;

describe.each([nativeNaCl, portableNaCl])("with the $name library", (naCl) => {
  function child(kind: ChildKind, plaintext: Uint8Array = text): Uint8Array {
    const blob = new Uint8Array(plaintext.length + 59);
    sealChild(naCl, kind, contentKey, plaintext, blob);
    return blob;
  }
  const root = (plaintext: Uint8Array = text) =>
    sealRoot(naCl, keys, [alice.publicKey, bob.publicKey], plaintext);

  describe.each(KINDS)("a %s", (kind) => {
    test("has the bytes that the format specifies", () => {
      expect<Buffer>(Buffer.from(child(kind))).toEqual(independentBlob(childHeader, kind, text));
    });

    test("opens in place by default, or into memory of its length", () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 300 }), (plaintext) => {
          const blob = child(kind, plaintext);
          const into = new Uint8Array(plaintext.length);
          const before = blob.slice();
          expect(openChild(naCl, kind, contentKey, blob, into)).toBe(into);
          expect(into).toEqual(plaintext);
          expect(blob).toEqual(before);
          const opened = openChild(naCl, kind, contentKey, blob);
          expect(opened).toEqual(plaintext);
          expect(opened.buffer).toBe(blob.buffer);
        }),
      );
    });

    test("opens in place if the given memory has another length", () => {
      const into = new Uint8Array(text.length + 1).fill(0xee);
      expect(openChild(naCl, kind, contentKey, child(kind), into)).toEqual(text);
      expect(into).toEqual(new Uint8Array(text.length + 1).fill(0xee));
    });

    test("can be sealed in place", () => {
      const blob = new Uint8Array(text.length + 59);
      blob.set(text, 59);
      sealChild(naCl, kind, contentKey, blob.subarray(59), blob);
      expect<Uint8Array>(blob).toEqual(child(kind));
    });

    test("is an error with any byte flipped, and releases nothing", () => {
      const good = child(kind);
      for (let at = 0; at < good.length; at++) {
        for (const flip of [1, 0x80, 0xff]) {
          const blob = good.with(at, good[at]! ^ flip);
          const expected = at < 11 ? "format" : at < 43 ? "commit" : "auth";
          const into = new Uint8Array(text.length);
          fails(() => openChild(naCl, kind, contentKey, blob, into), expected);
          expect(into).toEqual(new Uint8Array(text.length));
          const before = blob.slice();
          fails(() => openChild(naCl, kind, contentKey, blob), expected);
          expect(blob).toEqual(before);
        }
      }
    });

    test("opens at its address, hashed while it is opened", () => {
      for (const length of [0, 13, 2 ** 16, 2 ** 21 + 1]) {
        const plaintext = new Uint8Array(length).fill(length & 255);
        const blob = child(kind, plaintext);
        const reference = { address: addressOf(blob), contentKey };
        const opened = openChildAt(naCl, kind, reference, blob)!;
        expect(Buffer.compare(opened, plaintext)).toBe(0);
        expect(opened.buffer).toBe(blob.buffer);
      }
    });

    test("does not open at another address, whatever is wrong with it", () => {
      const good = child(kind);
      const reference = { address: addressOf(good), contentKey };
      for (let at = 0; at < good.length; at++) {
        const blob = good.with(at, good[at]! ^ 1);
        expect(openChildAt(naCl, kind, reference, blob)).toBeUndefined();
      }
      for (const blob of [new Uint8Array(0), good.slice(0, 20), good.slice(0, -1)])
        expect(openChildAt(naCl, kind, reference, blob)).toBeUndefined();
      // Intact, and not what is wanted.
      const other = child(kind, text.with(0, 0));
      expect(openChildAt(naCl, kind, reference, other)).toBeUndefined();
    });

    test("is an error at its own address if it is forged, and releases nothing", () => {
      const good = child(kind, new Uint8Array(2 ** 21).fill(7));
      for (const at of [0, 11, 42, 43, 58, 59, 2 ** 15, good.length - 1]) {
        const blob = good.with(at, good[at]! ^ 1);
        const reference = { address: addressOf(blob), contentKey };
        const expected = at < 11 ? "format" : at < 43 ? "commit" : "auth";
        fails(() => openChildAt(naCl, kind, reference, blob), expected);
        const left = blob.subarray(59);
        const isUntouched = Buffer.compare(left, good.with(at, good[at]! ^ 1).subarray(59)) === 0;
        expect(isUntouched || left.every((byte) => byte === 0)).toBe(true);
      }
    });

    test("releases nothing of a long one that is forged, in place or into other memory", () => {
      const good = child(kind, new Uint8Array(2 ** 21).fill(7));
      const forged = good.with(good.length - 1, good.at(-1)! ^ 1);
      const into = new Uint8Array(2 ** 21);
      fails(() => openChild(naCl, kind, contentKey, forged, into), "auth");
      expect(into.every((byte) => byte === 0)).toBe(true);
      const before = forged.slice();
      fails(() => openChild(naCl, kind, contentKey, forged), "auth");
      expect(Buffer.compare(forged, before)).toBe(0);
    });

    test("does not open as another kind", () => {
      const other = kind === "leaf" ? "node" : "leaf";
      fails(() => openChild(naCl, other, contentKey, child(kind)), "auth");
      fails(() => openRoot(naCl, child(kind), [alice]), "format", "not a root");
    });

    test("does not open with another key", () => {
      fails(() => openChild(naCl, kind, contentKey.with(0, 9), child(kind)), "commit");
    });

    test("does not open if it was sealed as a root", () => {
      const blob = independentBlob(childHeader, "root", text);
      fails(() => openChild(naCl, kind, contentKey, blob), "auth");
    });
  });

  describe("a root", () => {
    const header = () => {
      const blob = root();
      return blob.subarray(6, 6 + new DataView(blob.buffer).getUint16(4));
    };

    test("opens for every recipient, in place", () => {
      for (const identities of [[alice], [bob], [eve, bob]]) {
        const blob = root();
        const { plaintext, recipients } = openRoot(naCl, blob, identities);
        expect(plaintext).toEqual(text);
        expect(plaintext.buffer).toBe(blob.buffer);
        expect(recipients).toBe(2);
      }
    });

    test("of any length opens", () => {
      for (const length of [0, 1, 16, 63, 64, 65, 100_000]) {
        const plaintext = new Uint8Array(length).fill(5);
        expect(openRoot(naCl, root(plaintext), [alice]).plaintext).toEqual(plaintext);
      }
    });

    test("has the body that the format specifies for its header", () => {
      expect<Buffer>(Buffer.from(root())).toEqual(independentBlob(header(), "root", text));
    });

    test("opens for no one else", () => {
      for (const identities of [[], [eve]]) {
        fails(() => openRoot(naCl, root(), identities), "no-match");
      }
    });

    test("is an error with any byte flipped", () => {
      const good = root();
      const bodyStart = 6 + header().length;
      for (let at = 0; at < good.length; at++) {
        const blob = good.with(at, good[at]! ^ 1);
        try {
          openRoot(naCl, blob, [bob]);
          throw new Error(`byte ${at} can be flipped`);
        } catch (error) {
          if (!(error instanceof StorageError)) throw error;
          const expected = at < bodyStart ? ["format", "no-match", "commit", "auth"] : ["auth"];
          expect(expected).toContain(error.code);
        }
      }
    });

    test("under another commitment is a commit error, not auth", () => {
      const blob = root();
      blob[6 + 5] = blob[6 + 5]! ^ 1;
      fails(() => openRoot(naCl, blob, [alice]), "commit");
    });

    test("does not open with a flipped bit in another recipient's slot", () => {
      const blob = root();
      const bobsSlot = 6 + header().length - 48;
      blob[bobsSlot] = blob[bobsSlot]! ^ 1;
      fails(() => openRoot(naCl, blob, [alice]), "auth");
    });

    test("is not a child", () => {
      for (const kind of KINDS) {
        fails(
          () => openChild(naCl, kind, contentKey, root()),
          "format",
          "root in place of a child",
        );
      }
    });

    test.each(KINDS)("does not open if it was sealed as a %s", (kind) => {
      const blob = independentBlob(header(), kind, text);
      fails(() => openRoot(naCl, blob, [alice]), "auth");
    });
  });

  test("every failed decryption has the same message", () => {
    const flipped = child("leaf");
    flipped[50] = flipped[50]! ^ 1;
    const messages = [
      fails(() => openChild(naCl, "leaf", contentKey.with(0, 9), child("leaf")), "commit"),
      fails(() => openChild(naCl, "node", contentKey, child("leaf")), "auth"),
      fails(() => openChild(naCl, "leaf", contentKey, flipped), "auth"),
    ].map((error) => error.message);
    expect(new Set(messages).size).toBe(1);
  });
});

test("both libraries make the same blobs", () => {
  const [native, portable] = [nativeNaCl, portableNaCl].map((naCl) => {
    const leaf = new Uint8Array(text.length + 59);
    sealChild(naCl, "leaf", contentKey, text, leaf);
    return [leaf, sealRoot(naCl, keys, [alice.publicKey, bob.publicKey], text)];
  });
  expect(native).toEqual(portable);
});
