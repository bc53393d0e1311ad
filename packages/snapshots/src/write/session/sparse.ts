/**
 * Packs hardly in use. A prune deletes whole packs and reads none, so a file that stays keeps the pack that
 * it shares with files that are long gone. A writer takes such packs for lost, some in each session.
 */

/** A pack less in use than one part in so many is sparse. */
const SPARSE = 20;
/** Of what is in use, a session stores at most one part in so many again, within these bounds of bytes. */
const SHARE = 64;
const AGAIN_MIN = 2 ** 20;
const AGAIN_MAX = 2 ** 26;
/** The most packs that are taken for lost at once. */
const SPARSE_MAX = 1024;

/** Of each pack: its number, and the most bytes that were ever in use of it. Both are u32. */
export type PackFills = Uint8Array;

const FILL_LENGTH = 8;
/** What a pack holds at most. A piece that many files have is counted as often. */
const FILL_MAX = 2 ** 22;

/**
 * The fills of packs after a session.
 *
 * @param before those of the base
 * @param used bytes in use of each pack, as far as that is known
 */
export function packFills(
  before: PackFills | undefined,
  used: ReadonlyMap<number, number>,
  packs: readonly number[],
): PackFills {
  const known = before === undefined ? new Map<number, number>() : decode(before);
  const fills = new Uint8Array(FILL_LENGTH * packs.length);
  const view = new DataView(fills.buffer);
  for (const [at, pack] of packs.entries()) {
    view.setUint32(FILL_LENGTH * at, pack);
    const fill = Math.max(known.get(pack) ?? 0, used.get(pack) ?? 0);
    view.setUint32(FILL_LENGTH * at + 4, Math.min(fill, FILL_MAX));
  }
  return fills;
}

function decode(fills: PackFills): Map<number, number> {
  const view = new DataView(fills.buffer, fills.byteOffset, fills.length);
  const known = new Map<number, number>();
  for (let at = 0; at < fills.length; at += FILL_LENGTH) {
    known.set(view.getUint32(at), view.getUint32(at + 4));
  }
  return known;
}

/** The packs to be taken for lost in the next session, the least used first. */
export function sparsePacks(used: ReadonlyMap<number, number>, fills: PackFills): number[] {
  const full = decode(fills);
  let total = 0;
  for (const bytes of used.values()) total += bytes;
  let left = Math.min(Math.max(total / SHARE, AGAIN_MIN), AGAIN_MAX);
  const sparse = [...used].filter(([pack, bytes]) => bytes * SPARSE < (full.get(pack) ?? 0));
  const taken: number[] = [];
  for (const [pack, bytes] of sparse.toSorted(([, a], [, b]) => a - b).slice(0, SPARSE_MAX)) {
    left -= bytes;
    if (left < 0) break;
    taken.push(pack);
  }
  return taken;
}
