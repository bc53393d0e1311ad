import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { StorageError, loadNaCl, parseIdentity, readIdentityFile } from "@idk/storage";
import {
  formatWriterKey,
  isSignedBy,
  ownerKeyOf,
  parseWriter,
  parseWriterKey,
  publicKeyOfWriter,
  seedOf,
  signPayload,
  writerFromPublicKey,
  writerKeyFromSeed,
} from "../../src/format/keys/writer.ts";
import { answers, fails, fromHex, toHex } from "../support.ts";
import {
  isProtectedWriterFile,
  protectWriterKey,
  readWriterFile,
} from "../../src/format/keys/writer-files.ts";
import { publicKeyOfSeed, signMessage, verifySignature } from "../../src/format/keys/ed25519.ts";

const implementations = [await loadNaCl("native"), await loadNaCl("portable")];

const { owner, writerFile } = answers;
const utf8 = (text: string) => new TextEncoder().encode(text);

describe("writer keys", () => {
  test("the owner's key follows from an identity", () => {
    const key = ownerKeyOf(parseIdentity(answers.identity.identity));
    expect(toHex(seedOf(key))).toBe(owner.seed);
    expect(key.writer as string).toBe(owner.writer);
    expect(toHex(publicKeyOfWriter(key.writer))).toBe(owner.publicKey);
    expect(formatWriterKey(key)).toBe(owner.writerSecret);
  });

  test("are read in either case, and never show their secret", () => {
    const key = parseWriterKey(owner.writerSecret.toLowerCase());
    expect(toHex(seedOf(key))).toBe(owner.seed);
    expect(parseWriter(owner.writer.toUpperCase()) as string).toBe(owner.writer);
    expect(`${JSON.stringify(key)} ${Bun.inspect(key)}`).not.toContain(owner.seed.slice(0, 8));
  });

  test("other kinds of keys, and damaged ones, are refused without being repeated", () => {
    const secret = owner.writerSecret;
    for (const text of [
      answers.identity.identity,
      owner.writer,
      ` ${secret}`,
      secret.slice(0, -1),
      secret.replace("9", "8"),
      `${secret.slice(0, 30)}${secret.slice(30).toLowerCase()}`,
    ]) {
      const { message } = fails(() => parseWriterKey(text), "key");
      expect(message).not.toContain(text.slice(25, 40));
    }
    fails(() => parseWriter(answers.identity.recipient), "key");
    fails(() => writerFromPublicKey(new Uint8Array(32)), "key", "low order");
    fails(() => writerFromPublicKey(new Uint8Array(32).fill(0xff)), "key", "canonical");
  });
});

describe("writer files", () => {
  const bytes = fromHex(writerFile.hex);

  test("the known one is made and opens", async () => {
    const key = writerKeyFromSeed(fromHex(writerFile.seed));
    const made = await protectWriterKey(key, writerFile.passphrase, fromHex(writerFile.salt), {
      logN: writerFile.logN,
    });
    expect(toHex(made)).toBe(writerFile.hex);
    expect(toHex(seedOf(await readWriterFile(bytes, writerFile.passphrase)))).toBe(writerFile.seed);
  });

  test("the known one opens in armor, but not in that of an identity", async () => {
    const { passphrase, salt, logN, seed } = writerFile;
    const key = writerKeyFromSeed(fromHex(seed));
    const made = await protectWriterKey(key, passphrase, fromHex(salt), { logN, armor: true });
    expect(isProtectedWriterFile(made)).toBe(true);
    const text = new TextDecoder().decode(made);
    expect(text).toStartWith("-----BEGIN IDK PROTECTED WRITER KEY-----\n");
    expect(text.split("\n").slice(1, 4).join("")).toBe(Buffer.from(bytes).toString("base64"));
    expect(toHex(seedOf(await readWriterFile(made, passphrase)))).toBe(seed);
    for (const read of [
      readWriterFile(utf8(text.replaceAll("WRITER KEY", "IDENTITY")), passphrase),
      readIdentityFile(made, passphrase),
    ]) {
      const error: unknown = await read.catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: "key",
        message: expect.stringContaining("line 1 must be"),
      });
    }
  });

  test("a wrong passphrase and damage are told apart", async () => {
    const code = async (file: Uint8Array, passphrase?: string) =>
      readWriterFile(file, passphrase).then(
        () => "ok",
        (error: unknown) => (error instanceof StorageError ? error.code : error),
      );
    expect(await code(bytes, "wrong")).toBe("passphrase");
    expect(await code(bytes)).toBe("usage");
    expect(await code(bytes.subarray(0, 101), writerFile.passphrase)).toBe("key");
    const damaged = new Uint8Array(bytes);
    damaged[101]! ^= 1;
    expect(await code(damaged, writerFile.passphrase)).toBe("key");
    expect(await code(utf8(`# mine\n${owner.writerSecret}\n`))).toBe("ok");
    expect(await code(utf8("# mine\n"))).toBe("key");
    expect(await code(utf8(`${owner.writerSecret}\n${owner.writerSecret}\n`))).toBe("key");
    expect(await code(utf8(answers.identity.identity))).toBe("key");
  });

  test("never open as identity files, nor the other way round", async () => {
    const asIdentity = new Uint8Array(bytes);
    asIdentity[3] = "K".charCodeAt(0);
    const outcome = await readIdentityFile(asIdentity, writerFile.passphrase).then(
      () => "ok",
      (error: unknown) => (error instanceof StorageError ? error.code : error),
    );
    expect(outcome).toBe("passphrase");
  });
});

describe.each(implementations)("signatures by the $name library", (naCl) => {
  const ed25519 = naCl.ed25519!;

  test.each(answers.signatures.map((vector) => [vector.why, vector] as const))(
    "%s",
    (_, vector) => {
      const [publicKey, message, signature] = [
        vector.publicKey,
        vector.message,
        vector.signature,
      ].map(fromHex);
      expect(verifySignature(publicKey!, message!, signature!, ed25519)).toBe(vector.valid);
      if (vector.valid)
        expect(toHex(signMessage(fromHex(owner.seed), message!, ed25519))).toBe(vector.signature);
    },
  );

  test("no other signature is valid: any bit changed, shorter or longer", () => {
    const [{ publicKey, message, signature }] = answers.signatures as [
      (typeof answers.signatures)[0],
    ];
    for (let bit = 0; bit < 512; bit++) {
      const changed = fromHex(signature);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(verifySignature(fromHex(publicKey), fromHex(message), changed, ed25519)).toBe(false);
    }
    for (const text of [signature.slice(2), `${signature}00`, ""]) {
      expect(verifySignature(fromHex(publicKey), fromHex(message), fromHex(text), ed25519)).toBe(
        false,
      );
    }
  });

  test("under a public key of low order are refused, whatever R is", () => {
    // The base point as R, and 1 as S: valid for every message under the neutral element.
    const signature = fromHex(`58${"66".repeat(31)}01${"00".repeat(31)}`);
    for (const key of [`01${"00".repeat(31)}`, `ee${"ff".repeat(30)}7f`]) {
      expect(verifySignature(fromHex(key), utf8("any"), signature, ed25519)).toBe(false);
    }
  });

  test("are verified without the cofactor: R has to be the same bytes", () => {
    // A public key of mixed order: 123456789 · B and a point of order 8. Made with @noble/curves, whose
    // verification takes all three; only for the first is k a multiple of 8.
    const publicKey = fromHex("1dd960b291c53514fece1341fc0dcd8a648b3934c2c533666f737a654ff1e1bf");
    const R = "7db0dc9222f3c183457ddde4c708de8e5ea6bf3d5c4404cca14b32729a05c32a";
    const S = [
      "8a94df3b2740a8172921a3d9405b94b7f9e83b7cf9e6b697e8c9a59f97511502",
      "1a4bb28cafd9b6a3234ea3326cfc30706a35c82c71adadf94b53d24a5468d506",
      "6df425f13cb3745bd1b52b0e7bd592bbfe7f574570a9d5cba966aa75b6baa908",
    ];
    const results = S.map((scalar, i) =>
      verifySignature(publicKey, utf8(`message ${i}`), fromHex(R + scalar), ed25519),
    );
    expect(results).toEqual([true, false, false]);
  });
});

describe("before any library is asked", () => {
  const libsodium = implementations[0]!.ed25519!;
  /** A library that takes everything. */
  const lax = { ...libsodium, verify: () => true };
  const base = `58${"66".repeat(31)}`;
  const verdict = (publicKey: string, R: string, S: string) =>
    verifySignature(fromHex(publicKey), utf8("any"), fromHex(R + S.padEnd(64, "0")), lax);
  /** Of low order, or not canonical; the last bit is the sign of x. */
  const refused = [
    "00".repeat(32),
    `01${"00".repeat(31)}`,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    `ec${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(30)}7f`,
    `f0${"ff".repeat(30)}7f`,
    `${"ff".repeat(31)}7f`,
  ].flatMap((point) => {
    const signed = fromHex(point);
    signed[31]! |= 0x80;
    return [point, toHex(signed)];
  });

  test("public keys and R of low order, and those that are not canonical, are refused", () => {
    expect(verdict(base, base, "01")).toBe(true);
    for (const point of refused) {
      expect({ point, isValid: verdict(point, base, "01") }).toEqual({ point, isValid: false });
      expect({ point, isValid: verdict(base, point, "01") }).toEqual({ point, isValid: false });
    }
  });

  test("S is refused from the group's order on", () => {
    const order = (last: string) => `${last}d3f55c1a631258d69cf7a2def9de14${"00".repeat(15)}10`;
    expect(verdict(base, base, order("ec"))).toBe(true);
    for (const S of [order("ed"), order("ee"), `${"00".repeat(31)}20`, "ff".repeat(32)]) {
      expect(verdict(base, base, S)).toBe(false);
    }
  });
});

describe("signatures", () => {
  test("are the same bytes by each library, and valid for the other", () => {
    const random = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(random, fc.uint8Array({ maxLength: 200 }), (seed, message) => {
        const made = implementations.map(({ ed25519 }) => ({
          publicKey: publicKeyOfSeed(seed, ed25519),
          signature: signMessage(seed, message, ed25519),
        }));
        expect(made[1]).toEqual(made[0]);
        const { publicKey, signature } = made[0]!;
        for (const { ed25519 } of implementations) {
          expect(verifySignature(publicKey, message, signature, ed25519)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("of heads are bound to their purpose", () => {
    const [vector] = answers.head as [(typeof answers.head)[0]];
    const key = ownerKeyOf(parseIdentity(answers.identity.identity));
    const payload = fromHex(vector.payload);
    expect(toHex(signPayload(key, payload))).toBe(vector.signature);
    expect(toHex(signMessage(seedOf(key), fromHex(vector.signed)))).toBe(vector.signature);
    expect(isSignedBy(key.writer, payload, fromHex(vector.signature))).toBe(true);
    expect(isSignedBy(key.writer, payload, signMessage(seedOf(key), payload))).toBe(false);
  });
});
