import { describe, expect, test } from "bun:test";
import nacl from "tweetnacl";
import fc from "fast-check";
import { loadNaCl, loadedNaCl } from "../../src/crypto/nacl/load-nacl.ts";
import { nativeNaCl } from "../../src/crypto/nacl/nacl-native.ts";
import { portableNaCl } from "../../src/crypto/nacl/nacl-portable.ts";
import { rejects } from "../format/fails.ts";

const both = [nativeNaCl, portableNaCl];

const key = Uint8Array.from({ length: 32 }, (_, i) => i);
const nonce = Uint8Array.from({ length: 24 }, (_, i) => 100 + i);
const sample = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7) & 255);

function sealed(naCl: (typeof both)[number], message: Uint8Array): Uint8Array {
  const box = new Uint8Array(message.length + 16);
  naCl.seal(box, message, nonce, key);
  return box;
}

describe.each(both)("$name secretbox", (naCl) => {
  test("seals as NaCl does, for 0 to 300 bytes", () => {
    for (let length = 0; length <= 300; length++) {
      const message = sample(length);
      expect(sealed(naCl, message)).toEqual(nacl.secretbox(message, nonce, key));
    }
  });

  test("opens what the other implementations sealed, for 0 to 300 bytes", () => {
    for (let length = 0; length <= 300; length++) {
      for (const other of both) {
        const opened = new Uint8Array(length).fill(9);
        expect(naCl.open(opened, sealed(other, sample(length)), nonce, key)).toBe(true);
        expect(opened).toEqual(sample(length));
      }
    }
  });

  test("seals and opens a chunk", () => {
    const chunk = sample(2 ** 20 + 1);
    const box = sealed(naCl, chunk);
    expect(Buffer.compare(box, nacl.secretbox(chunk, nonce, key))).toBe(0);
    const opened = new Uint8Array(chunk.length);
    expect(naCl.open(opened, box, nonce, key)).toBe(true);
    expect(Buffer.compare(opened, chunk)).toBe(0);
  });

  test("seals and opens in place anywhere in a buffer, without touching other bytes", () => {
    const inPlace = fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.nat(20), fc.nat(20));
    fc.assert(
      fc.property(inPlace, ([message, before, after]) => {
        const buffer = new Uint8Array(before + 16 + message.length + after).fill(0xee);
        const box = buffer.subarray(before, before + 16 + message.length);
        box.set(message, 16);
        naCl.seal(box, box.subarray(16), nonce, key);
        expect<Uint8Array>(box).toEqual(nacl.secretbox(message, nonce, key));
        expect(naCl.open(box.subarray(16), box, nonce, key)).toBe(true);
        expect(box.subarray(16)).toEqual(message);
        const around = [...buffer.subarray(0, before), ...buffer.subarray(buffer.length - after)];
        expect(around.every((byte) => byte === 0xee)).toBe(true);
      }),
    );
  });

  test("does not modify message, nonce and key when it seals into other memory", () => {
    const [message, ownNonce, ownKey] = [sample(50), nonce.slice(), key.slice()];
    naCl.seal(new Uint8Array(66), message, ownNonce, ownKey);
    expect([message, ownNonce, ownKey]).toEqual([sample(50), nonce, key]);
  });

  test("returns false for any flipped bit, and does not modify the message", () => {
    const box = sealed(naCl, sample(5));
    for (let bit = 0; bit < 8 * box.length; bit++) {
      const flipped = box.with(bit >> 3, box[bit >> 3]! ^ (1 << (bit & 7)));
      const message = new Uint8Array(5).fill(0xee);
      expect(naCl.open(message, flipped, nonce, key)).toBe(false);
      expect(message).toEqual(new Uint8Array(5).fill(0xee));
      const inPlace = flipped.slice();
      expect(naCl.open(inPlace.subarray(16), inPlace, nonce, key)).toBe(false);
      expect(inPlace).toEqual(flipped);
    }
  });

  test("returns false for another key or nonce", () => {
    const box = sealed(naCl, sample(5));
    const message = new Uint8Array(5);
    expect(naCl.open(message, box, nonce, key.with(31, 0))).toBe(false);
    expect(naCl.open(message, box, nonce.with(23, 0), key)).toBe(false);
    expect(naCl.open(message, box, nonce, key)).toBe(true);
  });
});

describe("the native secretbox in parts", () => {
  /** On both sides of where a part ends. */
  const LENGTHS = [32, 33, 34].flatMap((parts) => {
    const end = parts * 2 ** 15;
    return [-33, -32, -31, -1, 0, 1, 32, 64].map((more) => end + more);
  });

  test("seals as NaCl does, into other memory and in place", () => {
    for (const length of LENGTHS) {
      const message = sample(length);
      const expected = nacl.secretbox(message, nonce, key);
      expect(Buffer.compare(sealed(nativeNaCl, message), expected), `${length}`).toBe(0);
      const box = new Uint8Array(16 + length);
      box.set(message, 16);
      nativeNaCl.seal(box, box.subarray(16), nonce, key);
      expect(Buffer.compare(box, expected), `${length} in place`).toBe(0);
    }
  });

  test("opens what NaCl sealed, and shows each part of the box before it is opened", () => {
    for (const length of [0, 1, 31, 32, 33, ...LENGTHS]) {
      const box = nacl.secretbox(sample(length), nonce, key);
      const inPlace = box.slice();
      const seen: Uint8Array[] = [];
      const show = (part: Uint8Array) => seen.push(part.slice());
      const isOpen = nativeNaCl.openInParts!(inPlace.subarray(16), inPlace, nonce, key, show);
      expect(isOpen, `${length}`).toBe(true);
      expect(Buffer.compare(Buffer.concat(seen), box), `${length}`).toBe(0);
      expect(Buffer.compare(inPlace.subarray(16), sample(length)), `${length}`).toBe(0);
    }
  });

  test("opens no box with a flipped bit or another key, and leaves nothing of it", () => {
    const short = nacl.secretbox(sample(50), nonce, key);
    const unchanged = new Uint8Array(50).fill(0xee);
    const flipped = short.with(20, short[20]! ^ 1);
    expect(nativeNaCl.openInParts!(unchanged, flipped, nonce, key, () => {})).toBe(false);
    expect(unchanged.every((byte) => byte === 0xee)).toBe(true);
    const length = 2 ** 20 + 5;
    const box = nacl.secretbox(sample(length), nonce, key);
    const openings: [Uint8Array, Uint8Array, Uint8Array][] = [
      ...[0, 15, 16, 47, 48, 2 ** 15, 2 ** 20, length + 15].map(
        (at): [Uint8Array, Uint8Array, Uint8Array] => [box.with(at, box[at]! ^ 1), nonce, key],
      ),
      [box, nonce.with(23, 0), key],
      [box, nonce, key.with(31, 0)],
    ];
    for (const [forged, withNonce, withKey] of openings) {
      const message = new Uint8Array(length).fill(0xee);
      const isOpen = nativeNaCl.openInParts!(message, forged, withNonce, withKey, () => {});
      expect(isOpen).toBe(false);
      expect(message.every((byte) => byte === 0)).toBe(true);
    }
  });

  test.each([
    ["box", 15, 24, 32],
    ["box", 17, 24, 32],
    ["nonce", 16, 23, 32],
    ["nonce", 16, 25, 32],
    ["key", 16, 24, 31],
    ["key", 16, 24, 33],
  ])("rejects a %s of another length", (what, more, nonceLength, keyLength) => {
    const message = new Uint8Array(2 ** 21);
    const box = new Uint8Array(message.length + more);
    const given = [new Uint8Array(nonceLength), new Uint8Array(keyLength)] as const;
    expect(() => nativeNaCl.seal(box, message, ...given)).toThrow(what);
    expect(() => nativeNaCl.openInParts!(message, box, ...given, () => {})).toThrow(what);
  });

  test("does not mix two boxes, and leaves nothing of one that is given up", () => {
    const box = nacl.secretbox(sample(2 ** 21), nonce, key);
    const message = new Uint8Array(2 ** 21);
    let parts = 0;
    const giveUp = () => {
      if (++parts === 5) throw new Error("given up");
    };
    expect(() => nativeNaCl.openInParts!(message, box, nonce, key, giveUp)).toThrow("given up");
    expect(message.every((byte) => byte === 0)).toBe(true);
    expect(nativeNaCl.openInParts!(message, box, nonce, key, () => {})).toBe(true);
    expect(Buffer.compare(message, sample(2 ** 21))).toBe(0);
  });
});

test("the portable secretbox does not take its own failure for a forged message", () => {
  const tooSmall = new Uint8Array(4);
  expect(() => portableNaCl.open(tooSmall, sealed(portableNaCl, sample(5)), nonce, key)).toThrow(
    RangeError,
  );
});

describe("loading", () => {
  test("uses the native library by default, or the requested one", async () => {
    expect(await loadNaCl()).toBe(nativeNaCl);
    expect(await loadNaCl("auto")).toBe(nativeNaCl);
    expect(await loadNaCl("native")).toBe(nativeNaCl);
    expect(await loadNaCl("portable")).toBe(portableNaCl);
  });

  test("the native library is there for callers that cannot wait, once it is loaded", async () => {
    await loadNaCl();
    await loadNaCl("portable");
    expect(loadedNaCl()).toBe(nativeNaCl);
  });

  test("accepts an implementation", async () => {
    const own = { ...portableNaCl, name: "own" };
    expect(await loadNaCl(own)).toBe(own);
  });

  test.each(["wasm", "", 1, true])("rejects %p", async (choice) => {
    await rejects(loadNaCl(choice as "auto"), "usage", '"auto", "native" or "portable"');
  });
});

describe.each(both)("$name Ed25519", (naCl) => {
  const ed25519 = naCl.ed25519!;
  const hex = (text: string) => Uint8Array.fromHex(text);
  // RFC 8032, section 7.1, test 2.
  const seed = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const publicKey = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const message = hex("72");
  const signature = hex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  );

  test("gives the known answers", () => {
    expect(ed25519.publicKey(seed)).toEqual(publicKey);
    expect(ed25519.sign(seed, message)).toEqual(signature);
    expect(ed25519.verify(publicKey, message, signature)).toBe(true);
    expect(ed25519.verify(publicKey, hex("73"), signature)).toBe(false);
  });

  test("a public key that is not on the curve, or a wrong length, is no error, and nothing is valid", () => {
    expect(ed25519.verify(hex("02".padEnd(64, "0")), message, signature)).toBe(false);
    const longer = (bytes: Uint8Array) => new Uint8Array([...bytes, 0]);
    expect(ed25519.verify(publicKey, message, longer(signature))).toBe(false);
    expect(ed25519.verify(publicKey, message, signature.subarray(1))).toBe(false);
    expect(ed25519.verify(longer(publicKey), message, signature)).toBe(false);
    expect(ed25519.verify(publicKey.subarray(1), message, signature)).toBe(false);
  });
});
