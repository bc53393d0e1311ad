import { decodeHead, encodeHead } from "../../packages/snapshots/src/format/records/head.ts";
import { decodePieceList } from "../../packages/snapshots/src/format/tree/content.ts";
import { encodePieceList } from "../../packages/snapshots/src/format/tree/encode-content.ts";
import { decodeReach, encodeReach } from "../../packages/snapshots/src/format/records/reach.ts";
import {
  decodeSnapshot,
  encodeSnapshot,
} from "../../packages/snapshots/src/format/records/snapshot.ts";
import { decodeNode, encodeNode } from "../../packages/snapshots/src/format/tree/node.ts";
import { fuzz, outcomes } from "./fuzz.ts";
import { type Draw, mutatedBytes } from "./draw.ts";
import { StorageError } from "../../packages/storage/src/index.ts";
import { decodeMetadataPack } from "../../packages/snapshots/src/format/packs/metadata-pack.ts";
import { decodePiece } from "../../packages/snapshots/src/format/packs/piece.ts";
import { expect } from "bun:test";
import { join } from "node:path";
import { readFileSync } from "node:fs";

/*
 * Whatever an allowed writer seals, decoders of snapshots return what encodes to the same bytes, or a
 * proper error, within memory.
 */

interface PackAnswer {
  readonly plaintext: string;
  readonly plaintextLength: number;
}

const answers = JSON.parse(
  readFileSync(join(import.meta.dir, "../../testdata/snapshots/known-answers.json"), "utf8"),
) as {
  readonly dataPack: PackAnswer;
  readonly metadataPack: PackAnswer & { readonly frameHolds: readonly { readonly hex: string }[] };
  readonly snapshot: readonly { readonly content: string }[];
  readonly reach: readonly { readonly content: string }[];
  readonly head: readonly { readonly content: string; readonly payload: string }[];
};

const ended = outcomes("snapshots", { refused: 0.3, accepted: 0.02 });
const hex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
const PLACE = { start: 2 ** 22, rowCount: 4 };
const LIST_BYTES = 3 * 2 ** 20;

/** A target: what it mutates, and what it does with it. Returns what was read, encoded again. */
interface Target {
  readonly seeds: readonly Uint8Array[];
  readonly read: (bytes: Uint8Array, draw: Draw) => Uint8Array | undefined;
}

const [list = "", ...nodes] = answers.metadataPack.frameHolds.map((held) => held.hex);
const TARGETS: readonly Target[] = [
  {
    seeds: nodes.map(hex),
    read: (bytes) => encodeNode(decodeNode(bytes, PLACE), PLACE),
  },
  {
    seeds: [hex(list)],
    read: (bytes) => encodePieceList(decodePieceList(bytes, LIST_BYTES, PLACE, 1), PLACE, 1),
  },
  {
    seeds: answers.snapshot.map(({ content }) => hex(content)),
    read: (bytes) => encodeSnapshot(decodeSnapshot(bytes)),
  },
  {
    seeds: answers.reach.map(({ content }) => hex(content)),
    read: (bytes) => encodeReach(decodeReach(bytes)),
  },
  {
    seeds: answers.head.map(({ content }) => hex(content)),
    read: (bytes) => encodeHead(decodeHead(bytes)),
  },
  {
    seeds: [hex(answers.metadataPack.plaintext)],
    read(bytes) {
      expect(decodeMetadataPack(bytes).frame.length).toBeLessThanOrEqual(2 ** 22);
      return undefined;
    },
  },
  {
    seeds: [hex(answers.dataPack.plaintext)],
    read(bytes, draw) {
      const pieces = [
        { offset: 13, stored: 11, length: 64, encoding: "lz4" as const },
        { offset: 24, stored: 41, length: 2 ** 20, encoding: "zstd" as const },
      ];
      const piece = draw.pick(pieces);
      const length = draw.oneIn(3) ? 1 + draw.upTo(2 ** 20 - 1) : piece.length;
      expect(decodePiece(bytes, { ...piece, length }).length).toBe(length);
      return undefined;
    },
  },
];

fuzz("snapshots", async (draw) => {
  const target = draw.pick(TARGETS);
  let bytes = new Uint8Array(draw.pick(target.seeds));
  for (let changes = 1 + draw.upTo(3); changes > 0; changes--) bytes = mutatedBytes(draw, bytes);
  const before = Buffer.from(bytes).toString("hex");
  try {
    const again = target.read(bytes, draw);
    if (again !== undefined) expect(Buffer.from(again).toString("hex")).toBe(before);
    ended("accepted");
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    expect(["tree", "head"]).toContain(error.code);
    ended("refused");
  }
  // A decoder does not change its input.
  expect(Buffer.from(bytes).toString("hex")).toBe(before);
});
