import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import fc from "fast-check";
import { type Hashes, bunHashes, nodeHashes, portableHashes } from "../../src/crypto/hash.ts";

const node = nodeHashes(crypto);
const bun = bunHashes(Bun.CryptoHasher);
const implementations: Readonly<Record<string, Hashes>> = { bun, node, portable: portableHashes };

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const unhex = (text: string) => Uint8Array.from(Buffer.from(text, "hex"));
const ascii = (text: string) => Uint8Array.from(Buffer.from(text));
/** Bytes that differ at each offset. */
const sample = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 131 + length) & 255);

/** FIPS 180-4, and the examples that NIST publishes with it. */
const SHA_256: readonly (readonly [string, Uint8Array, string])[] = [
  ["nothing", ascii(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", ascii("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "448 bits",
    ascii("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
  [
    "a million a",
    ascii("a".repeat(1_000_000)),
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
  ],
];

/** RFC 4231, section 4, without case 5, which truncates. */
const HMAC: readonly (readonly [number, string, Uint8Array, string])[] = [
  [
    1,
    "0b".repeat(20),
    ascii("Hi There"),
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  ],
  [
    2,
    hex(ascii("Jefe")),
    ascii("what do ya want for nothing?"),
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [
    3,
    "aa".repeat(20),
    unhex("dd".repeat(50)),
    "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
  ],
  [
    4,
    "0102030405060708090a0b0c0d0e0f10111213141516171819",
    unhex("cd".repeat(50)),
    "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  ],
  [
    6,
    "aa".repeat(131),
    ascii("Test Using Larger Than Block-Size Key - Hash Key First"),
    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  ],
  [
    7,
    "aa".repeat(131),
    ascii(
      "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  ],
];

const range = (from: number, to: number) =>
  Uint8Array.from({ length: to - from }, (_, i) => from + i);

/**
 * RFC 5869, appendix A.3, its first 32 bytes. The infos of cases 1 and 2 are not UTF-8, so they
 * cannot be passed as text; `node:crypto` is used for them below.
 */
const HKDF = {
  key: unhex("0b".repeat(22)),
  expected: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d",
};

describe.each(Object.entries(implementations))("the %s hashes", (_name, hashes) => {
  test.each(SHA_256)("SHA-256 of %s matches the published digest", (_what, message, digest) => {
    expect(hex(hashes.sha256(message))).toBe(digest);
    const hashing = hashes.startSha256();
    for (const part of [message.subarray(0, 1), message.subarray(1)]) hashing.update(part);
    expect(hex(hashing.digest())).toBe(digest);
  });

  test.each(HMAC)("HMAC matches RFC 4231, case %d", (_case, key, message, mac) => {
    expect(hex(hashes.hmac(unhex(key), message))).toBe(mac);
  });

  test("HKDF matches RFC 5869, case 3", () => {
    expect(hex(hashes.hkdf(HKDF.key, new Uint8Array(0), ""))).toBe(HKDF.expected);
  });

  test("HKDF is extract and one expand of RFC 5869, with the keys and salts of cases 1 and 2", () => {
    const info = "idk/v1/root";
    for (const [key, salt] of [
      [unhex("0b".repeat(22)), range(0, 13)],
      [range(0, 80), range(0x60, 0xb0)],
    ] as const) {
      const extracted = crypto.createHmac("sha256", salt).update(key).digest();
      const expanded = crypto.createHmac("sha256", extracted).update(`${info}\u0001`).digest();
      expect(hex(hashes.hkdf(key, salt, info))).toBe(hex(expanded));
    }
  });

  test.each([1, 10, 14])("scrypt with N = 2^%d matches OpenSSL", async (logN) => {
    const options = { N: 2 ** logN, r: 8, p: 1, maxmem: 2 ** 26 };
    const expected = crypto.scryptSync("pleaseletmein", "SodiumChloride", 32, options);
    const key = await hashes.scrypt(ascii("pleaseletmein"), ascii("SodiumChloride"), logN);
    expect(hex(key)).toBe(hex(expected));
  });

  test("scrypt matches the first 32 bytes of RFC 7914, section 12", async () => {
    const key = await hashes.scrypt(ascii("pleaseletmein"), ascii("SodiumChloride"), 14);
    expect(hex(key)).toBe("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2");
  });

  test("parts are hashed as if concatenated", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.array(fc.uint8Array({ maxLength: 100 })), (key, parts) => {
        const joined = Buffer.concat(parts);
        expect(hex(hashes.sha256(...parts))).toBe(hex(hashes.sha256(joined)));
        expect(hex(hashes.hmac(key, ...parts))).toBe(hex(hashes.hmac(key, joined)));
      }),
    );
  });

  test("results are 32 bytes of their own", () => {
    const results = [
      hashes.sha256(ascii("a")),
      hashes.hmac(ascii("k"), ascii("a")),
      hashes.hkdf(ascii("k"), ascii("s"), "i"),
    ];
    for (const result of results) {
      expect(result).toBeInstanceOf(Uint8Array);
      expect(result).toHaveLength(32);
    }
  });
});

describe.each([
  ["portable", portableHashes],
  ["Bun's", bun],
])("Node's hashes and the %s ones agree", (_name, other) => {
  test("on messages of 0 to 300 bytes", () => {
    for (let length = 0; length <= 300; length++) {
      const message = sample(length);
      expect(hex(other.sha256(message))).toBe(hex(node.sha256(message)));
      expect(hex(other.hmac(sample(32), message))).toBe(hex(node.hmac(sample(32), message)));
    }
  });

  test("on keys and salts of 0 to 300 bytes", () => {
    for (let length = 0; length <= 300; length++) {
      const key = sample(length);
      expect(hex(other.hmac(key, sample(7)))).toBe(hex(node.hmac(key, sample(7))));
      for (const [k, salt] of [
        [key, sample(32)],
        [sample(32), key],
      ] as const) {
        expect(hex(other.hkdf(k, salt, "i"))).toBe(hex(node.hkdf(k, salt, "i")));
      }
    }
  });

  test("on HKDF's info, including multi-byte characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (info) => {
        const [key, salt] = [sample(32), sample(16)];
        expect(hex(other.hkdf(key, salt, info))).toBe(hex(node.hkdf(key, salt, info)));
      }),
    );
  });

  test("on scrypt, for passphrases and salts of any length", async () => {
    for (const length of [0, 1, 63, 64, 65, 300]) {
      const [text, salt] = [sample(length), sample(300 - length)];
      const expected = hex(await node.scrypt(text, salt, 4));
      expect(hex(await other.scrypt(text, salt, 4))).toBe(expected);
    }
  });
});
