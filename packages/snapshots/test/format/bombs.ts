import { decodeMetadataPack, encodeMetadataPack } from "../../src/format/packs/metadata-pack.ts";
import { fromHex } from "../support.ts";
import { packLength } from "../../src/format/packs/pack.ts";
import { readFileSync } from "node:fs";

/** A frame of blocks that each repeat one byte, by default 128 KiB. */
export function bomb(blocks: number, announced?: bigint, each: number = 131_072): Uint8Array {
  const head =
    announced === undefined ? fromHex("28b52ffd0038") : fromHex("28b52ffdc038" + "00".repeat(8));
  if (announced !== undefined) new DataView(head.buffer).setBigUint64(6, announced, true);
  const body = Array.from({ length: blocks }, (_, i) => {
    const header = (each << 3) | 2 | (i === blocks - 1 ? 1 : 0);
    return Uint8Array.of(header & 255, (header >> 8) & 255, header >> 16, 0);
  });
  return new Uint8Array(Buffer.concat([head, ...body]));
}

/** What decoding a bomb takes, beside a frame of as many blocks that is allowed. */
export interface Cost {
  /** By how many bytes the most memory that the process ever had rises. */
  readonly memory: number;
  /** The shortest of several times. */
  readonly bombMs: number;
  readonly allowedMs: number;
}

// Run by itself, because memory is that of a process, and other tests take some.
if (import.meta.main) {
  const packOf = (frame: Uint8Array): Uint8Array =>
    encodeMetadataPack([], frame, packLength("meta", 4 + 64 + 4 + frame.length, false));
  // Would be 25 GiB.
  const packs = { bomb: packOf(bomb(200_000)), allowed: packOf(bomb(200_000, undefined, 20)) };
  const shortest = (pack: Uint8Array): number => {
    let least = Infinity;
    for (let i = 0; i < 5; i += 1) {
      const started = performance.now();
      try {
        decodeMetadataPack(pack);
      } catch {
        // A bomb is refused.
      }
      least = Math.min(least, performance.now() - started);
    }
    return least;
  };
  const peak = (): number =>
    1024 * Number(/VmHWM:\s*(\d+)/u.exec(readFileSync("/proc/self/status", "utf8"))![1]);
  const allowedMs = shortest(packs.allowed);
  const before = peak();
  const bombMs = shortest(packs.bomb);
  console.log(JSON.stringify({ memory: peak() - before, bombMs, allowedMs } satisfies Cost));
}
