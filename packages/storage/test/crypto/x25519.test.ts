import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import { nativeNaCl } from "../../src/crypto/nacl/nacl-native.ts";
import { nodeX25519, portableNaCl, tweetX25519 } from "../../src/crypto/nacl/nacl-portable.ts";
import { lowOrderPoints, notCanonical } from "./low-order.ts";

const tweet = tweetX25519();
const implementations = {
  native: nativeNaCl,
  portable: portableNaCl,
  "portable without node:crypto": tweet,
  "portable with node:crypto": nodeX25519(crypto),
};

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const unhex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"));
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** RFC 7748, section 5.2. The second coordinate has its top bit set, which must be ignored. */
const VECTORS = [
  [
    "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
    "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
    "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
  ],
  [
    "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
    "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
    "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
  ],
] as const;

/** RFC 7748, section 6.1. */
const ALICE = {
  secret: "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
  public: "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
};
const BOB = {
  secret: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
  public: "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
};
const SHARED = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";

describe.each(Object.entries(implementations))("%s X25519", (_name, { x25519, publicKey }) => {
  test.each(VECTORS)("matches the vectors of RFC 7748, section 5.2", (scalar, point, result) => {
    expect(hex(x25519(unhex(scalar), unhex(point)))).toBe(result);
  });

  test("matches 1000 iterations of RFC 7748, section 5.2", () => {
    let [k, u] = [unhex(`09${"00".repeat(31)}`), unhex(`09${"00".repeat(31)}`)];
    const rounds = x25519 === tweet.x25519 ? 1 : 1000;
    for (let i = 0; i < rounds; i++) [k, u] = [Uint8Array.from(x25519(k, u)), k];
    expect(hex(k)).toBe(
      rounds === 1
        ? "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
        : "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51",
    );
  });

  test("matches the keys of RFC 7748, section 6.1", () => {
    for (const { secret, public: expected } of [ALICE, BOB]) {
      expect(hex(publicKey(unhex(secret)))).toBe(expected);
    }
    expect(hex(x25519(unhex(ALICE.secret), unhex(BOB.public)))).toBe(SHARED);
    expect(hex(x25519(unhex(BOB.secret), unhex(ALICE.public)))).toBe(SHARED);
  });

  test.each(Object.entries(lowOrderPoints))("maps the point %s to zero", (_point, point) => {
    for (const fill of [0, 1, 0x77, 0xff]) {
      expect(hex(x25519(new Uint8Array(32).fill(fill), point))).toBe("00".repeat(32));
    }
  });

  test("agrees with tweetnacl on any keys, canonical or not", () => {
    fc.assert(
      fc.property(key, key, (secretKey, point) => {
        expect(hex(x25519(secretKey, point))).toBe(hex(tweet.x25519(secretKey, point)));
        expect(hex(publicKey(secretKey))).toBe(hex(tweet.publicKey(secretKey)));
      }),
      { numRuns: 40 },
    );
    for (const point of Object.values(notCanonical)) {
      const secretKey = new Uint8Array(32).fill(3);
      expect(hex(x25519(secretKey, point))).toBe(hex(tweet.x25519(secretKey, point)));
    }
  });

  test("does not modify its arguments", () => {
    const [secretKey, point] = [unhex(ALICE.secret), unhex(BOB.public)];
    x25519(secretKey, point);
    publicKey(secretKey);
    expect([hex(secretKey), hex(point)]).toEqual([ALICE.secret, BOB.public]);
  });
});
