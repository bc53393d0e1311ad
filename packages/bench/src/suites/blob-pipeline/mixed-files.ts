import { noise } from "../../harness/content.ts";
import { type Random, seededRandom } from "../../statistics/random.ts";

export const KINDS = ["text", "json", "image"] as const;

export interface MixedFile {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  readonly content: Uint8Array;
}

/** Kinds of ten files by first letter: four texts, three JSON documents, three images. */
const MIX = "tjitjtjiti";

const WORDS =
  "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were her all she there would their we him been has when who will more no if out so said what up its about into than them can only other new some could time these two may then do first any my now such like our over man me even most made after also did many before must through".split(
    " ",
  );

/**
 * A typical folder of files, determined by the seed: many short and a few long files (log-normal),
 * compressible texts and JSON, and incompressible images.
 *
 * @param total the exact sum of all lengths in bytes; at least one per file
 */
export function mixedFiles(count: number, total: number, seed: number): MixedFile[] {
  const random = seededRandom(seed);
  return lengths(count, total, random).map((length, i) => {
    const letter = MIX[i % MIX.length]!;
    const kind = KINDS.find((kind) => kind.startsWith(letter))!;
    return { name: `${i}.${kind}`, kind, content: makers[kind](length, random) };
  });
}

function lengths(count: number, total: number, random: Random): number[] {
  const weights = Array.from({ length: count }, () => Math.exp(1.4 * normal(random)));
  const sum = weights.reduce((sum, weight) => sum + weight, 0);
  const lengths = weights.map((weight) => 1 + Math.floor(((total - count) * weight) / sum));
  // Rounding down leaves less than one byte per file.
  const left = total - lengths.reduce((sum, length) => sum + length, 0);
  return lengths.map((length, i) => (i < left ? length + 1 : length));
}

/** Approximately normal with mean 0 and standard deviation 1: a sum of twelve uniform numbers. */
function normal(random: Random): number {
  return Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
}

const makers: Record<MixedFile["kind"], (length: number, random: Random) => Uint8Array> = {
  text: (length, random) =>
    filled(length, () => {
      const words = Array.from({ length: 8 + Math.floor(random() * 12) }, () => word(random));
      return `${words.join(" ")}.\n`;
    }),
  json: (length, random) =>
    filled(length, (i) => {
      const id = Math.floor(random() * 2 ** 32);
      const name = `${word(random)} ${word(random)}`;
      const record = { id, index: i, name, price: Math.round(random() * 1e5) / 100, sold: i % 3 };
      return `${JSON.stringify(record)},\n`;
    }),
  // Image formats are compressed already.
  image: noise,
};

/** The square makes the first, frequent words more likely. */
function word(random: Random): string {
  return WORDS[Math.floor(random() ** 2 * WORDS.length)]!;
}

function filled(length: number, next: (index: number) => string): Uint8Array {
  const lines: string[] = [];
  for (let size = 0, i = 0; size < length; i++) {
    const line = next(i);
    lines.push(line);
    size += line.length;
  }
  return new TextEncoder().encode(lines.join("")).subarray(0, length);
}
