import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressOf, loadNaCl } from "@idk/storage";
import { answers, fails, fromHex, toHex } from "../support.ts";
import {
  decodeMetadataPack,
  encodeMetadataPack,
  metadataPackLength,
} from "../../src/format/packs/metadata-pack.ts";
import { decodePiece, savesEnough } from "../../src/format/packs/piece.ts";
import { decodeRow, encodeRow } from "../../src/format/packs/row.ts";
import { openPack, packKey, packLength, packSalt, sealPack } from "../../src/format/packs/pack.ts";
import type { SessionId } from "../../src/format/names/identifiers.ts";
import { type Cost, bomb } from "./bombs.ts";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { mutated } from "./mutations.ts";
import { row } from "./arbitraries.ts";

const naCl = await loadNaCl();
const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest());

/** A plaintext filled up with zeros. */
function padded(hex: string, length: number): Uint8Array {
  const plaintext = new Uint8Array(length);
  plaintext.set(fromHex(hex));
  return plaintext;
}

describe.each([
  ["data", answers.dataPack],
  ["meta", answers.metadataPack],
] as const)("the known %s pack", (sort, vector) => {
  const secret = fromHex(vector.S);
  const plaintext = padded(vector.plaintext, vector.plaintextLength);
  const session = { id: vector.sid as SessionId, secret };

  test("has its salt, key, row and address", () => {
    const salt = packSalt(secret, fromHex(vector.random), sha256(plaintext));
    expect(toHex(salt)).toBe(vector.salt);
    expect(toHex(packKey(secret, sort, salt))).toBe(vector.contentKey);
    const sealed = sealPack(naCl, session, sort, { plaintext, random: fromHex(vector.random) });
    expect(toHex(encodeRow(sealed.row))).toBe(vector.row);
    expect(addressOf(sealed.blob) as string).toBe(vector.address);
    expect(packLength(sort, vector.plaintext.length / 2, true)).toBe(vector.plaintextLength);
  });

  test("opens, and as the other sort does not", () => {
    const blob = () =>
      new Uint8Array(Buffer.from(answers.repository.blobs[vector.address]!, "base64"));
    const known = decodeRow(fromHex(vector.row));
    expect(toHex(openPack(naCl, secret, sort, known, blob()))).toBe(toHex(plaintext));
    fails(() => openPack(naCl, secret, sort === "data" ? "meta" : "data", known, blob()), "commit");
    fails(() => openPack(naCl, new Uint8Array(32), sort, known, blob()), "commit");
    fails(
      () => openPack(naCl, secret, sort, { ...known, salt: new Uint8Array(16) }, blob()),
      "commit",
    );
    const damaged = blob();
    damaged[100]! ^= 1;
    fails(() => openPack(naCl, secret, sort, known, damaged), "address");
  });
});

test("packs that are too long are refused before they are hashed or opened", () => {
  const secret = new Uint8Array(32);
  const session = { id: "0".repeat(32) as SessionId, secret };
  const random = new Uint8Array(32);
  const long = sealPack(naCl, session, "meta", { plaintext: new Uint8Array(2 ** 20 + 1), random });
  fails(() => openPack(naCl, secret, "meta", long.row, long.blob), "tree", "1048576");
  const tooLong = new Uint8Array(2 ** 22 + 60);
  fails(() => openPack(naCl, secret, "data", long.row, tooLong), "limit");
  const full = sealPack(naCl, session, "data", { plaintext: new Uint8Array(2 ** 22), random });
  expect(openPack(naCl, secret, "data", full.row, full.blob).length).toBe(2 ** 22);
});

test("a cloned generator does not seal two plaintexts under one key", () => {
  const [secret, random] = [new Uint8Array(32), new Uint8Array(32)];
  const a = packSalt(secret, random, new Uint8Array(32).fill(1));
  const b = packSalt(secret, random, new Uint8Array(32).fill(2));
  expect(toHex(a)).not.toBe(toHex(b));
});

test("full packs have one length, last ones are padded", () => {
  expect(packLength("data", 5, false)).toBe(2 ** 22);
  expect(packLength("meta", 5, false)).toBe(2 ** 20);
  expect(packLength("data", 0, true)).toBe(4096);
  expect(packLength("data", 1_000_000, true)).toBe(1_015_808);
  expect(packLength("data", 2 ** 22 - 1, true)).toBe(2 ** 22);
  expect(packLength("meta", 2 ** 20 - 1, true)).toBe(2 ** 20);
  expect(() => packLength("meta", 2 ** 20 + 1, true)).toThrow(RangeError);
});

test("rows survive their 64 bytes", () => {
  fc.assert(
    fc.property(row, (value) => {
      const bytes = encodeRow(value);
      expect(bytes.length).toBe(64);
      expect(decodeRow(bytes)).toEqual(value);
    }),
  );
});

describe("metadata packs", () => {
  const { plaintext, plaintextLength, frameHolds } = answers.metadataPack;
  const known = padded(plaintext, plaintextLength);

  test("the known one holds the known nodes and lists", () => {
    const pack = decodeMetadataPack(known);
    expect(pack.rowCount).toBe(2);
    expect(toHex(pack.row(1))).toBe(answers.dataPack.row);
    for (const { offset, length, hex } of frameHolds) {
      expect(toHex(pack.frame.subarray(offset, offset + length))).toBe(hex);
    }
    expect(() => pack.row(0)).toThrow(RangeError);
    expect(() => pack.row(2)).toThrow(RangeError);
  });

  test("the known one is encoded", () => {
    const frame = known.subarray(136, 136 + new DataView(known.buffer).getUint32(132));
    const bytes = encodeMetadataPack([fromHex(answers.dataPack.row)], frame, plaintextLength);
    expect(toHex(bytes)).toBe(toHex(known));
  });

  const packOf = (frame: Uint8Array, rows = 1) =>
    encodeMetadataPack(
      Array.from({ length: rows - 1 }, () => new Uint8Array(64)),
      frame,
      packLength("meta", metadataPackLength(rows, frame.length), true),
    );
  const zstd = (bytes: Uint8Array) => new Uint8Array(zstdCompressSync(bytes));

  test("survive encoding", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 3000 }),
        fc.integer({ min: 1, max: 40 }),
        (bytes, rows) => {
          const pack = decodeMetadataPack(packOf(zstd(bytes), rows));
          expect(pack.rowCount).toBe(rows);
          expect(toHex(pack.frame)).toBe(toHex(bytes));
        },
      ),
    );
  });

  test("mutated, either fail as `tree` or hold something else within limits", () => {
    fc.assert(
      fc.property(mutated(fc.constant(known.slice(0, 700))), (bytes) => {
        try {
          const pack = decodeMetadataPack(bytes);
          expect(pack.frame.length).toBeLessThanOrEqual(2 ** 22);
        } catch (error) {
          fails(() => {
            throw error;
          }, "tree");
        }
      }),
      { numRuns: 3000 },
    );
  });

  const u32 = (value: number) => {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value);
    return bytes;
  };
  const frame = zstd(Uint8Array.of(0x80));
  const zeros = new Uint8Array(64);
  const size = u32(frame.length);
  test.each([
    ["no bytes", [], "cut short"],
    ["no row for itself", [u32(0), size, frame], "no row"],
    ["more rows than bytes", [u32(2 ** 32 - 1), zeros, size, frame], "cut short"],
    ["a row 0 that is not zero", [u32(1), new Uint8Array(64).fill(1), size, frame], "row 0"],
    ["a frame that is cut short", [u32(1), zeros, u32(frame.length + 1), frame], "cut short"],
    ["a length of the frame that is cut short", [u32(1), zeros, Uint8Array.of(0, 0)], "cut short"],
    ["padding that is not zero", [u32(1), zeros, size, frame, Uint8Array.of(0, 1)], "padding"],
    ["no frame", [u32(1), zeros, u32(0)], "truncated"],
    ["two frames", [u32(1), zeros, u32(2 * frame.length), frame, frame], "bytes follow"],
    ["a skippable frame", [u32(1), zeros, u32(8), fromHex("502a4d1800000000")], "magic number"],
    ["more than 2^20 bytes", [u32(1), zeros, size, frame, new Uint8Array(2 ** 20)], "1048576"],
    ["a frame with a dictionary", [u32(1), zeros, u32(7), fromHex("28b52ffd010000")], "dictionary"],
    ["a window of 2^23 + 2^20", [u32(1), zeros, u32(9), fromHex("28b52ffd0069010000")], "window"],
  ] as const)("%s", (_, parts, message) => {
    fails(() => decodeMetadataPack(new Uint8Array(Buffer.concat(parts))), "tree", message);
  });

  test("a frame may decode to 2^22 bytes and no more", () => {
    expect(decodeMetadataPack(packOf(bomb(32))).frame.length).toBe(2 ** 22);
    fails(() => decodeMetadataPack(packOf(bomb(33))), "tree", "more than 4194304");
    fails(() => decodeMetadataPack(packOf(bomb(33, 33n * 131_072n))), "tree", "more than 4194304");
    fails(() => decodeMetadataPack(packOf(bomb(1, 2n ** 63n))), "tree", "more than 4194304");
  });

  test("a bomb takes neither memory nor time", () => {
    const { stdout, stderr } = Bun.spawnSync([process.execPath, join(import.meta.dir, "bombs.ts")]);
    expect(stderr.toString()).toBe("");
    const { memory, bombMs, allowedMs } = JSON.parse(stdout.toString()) as Cost;
    expect(memory).toBeLessThan(100 * 2 ** 20);
    expect(bombMs).toBeLessThan(10 * allowedMs);
  }, 60_000);
});

describe("pieces", () => {
  const pack = padded(answers.dataPack.plaintext, answers.dataPack.plaintextLength);
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

  test("the known ones decode", () => {
    const raw = decodePiece(pack, { offset: 0, stored: 13, length: 13, encoding: "raw" });
    expect(text(raw)).toBe("hello, world\n");
    const lz4 = decodePiece(pack, { offset: 13, stored: 11, length: 64, encoding: "lz4" });
    expect(text(lz4)).toBe("a".repeat(64));
    const zstd = decodePiece(pack, { offset: 24, stored: 41, length: 2 ** 20, encoding: "zstd" });
    expect(zstd.length).toBe(2 ** 20);
  });

  test.each(["lz4", "zstd"] as const)("%s has to decode to exactly its length", (encoding) => {
    const known =
      encoding === "lz4"
        ? { offset: 13, stored: 11, length: 64 }
        : { offset: 24, stored: 41, length: 2 ** 20 };
    const decode = (change: object) => () => decodePiece(pack, { ...known, encoding, ...change });
    fails(decode({ length: known.length - 1 }), "tree");
    fails(decode({ length: known.length + 1 }), "tree");
    fails(decode({ stored: known.stored - 1 }), "tree");
    fails(decode({ stored: known.stored + 1 }), "tree");
    fails(decode({ offset: known.offset + 1 }), "tree");
  });

  test("have to lie in their pack", () => {
    for (const [offset, stored] of [
      [4096, 1],
      [4090, 7],
      [2 ** 53 - 1, 1],
    ] as const) {
      fails(
        () => decodePiece(pack, { offset, stored, length: stored, encoding: "raw" }),
        "tree",
        "not lie",
      );
    }
  });

  test("of zstd survive", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 5000 }), (bytes) => {
        for (const level of [1, 19]) {
          const frame = zstdCompressSync(bytes, {
            params: {
              [constants.ZSTD_c_compressionLevel]: level,
              [constants.ZSTD_c_checksumFlag]: level & 1,
            },
          });
          const piece = {
            offset: 0,
            stored: frame.length,
            length: bytes.length,
            encoding: "zstd" as const,
          };
          expect(toHex(decodePiece(frame, piece))).toBe(toHex(bytes));
        }
      }),
    );
  });

  test("compression has to save an eighth", () => {
    expect(savesEnough(7, 8)).toBe(true);
    expect(savesEnough(8, 8)).toBe(false);
    expect(savesEnough(7, 7)).toBe(false);
    expect(savesEnough(6, 7)).toBe(true);
  });
});
