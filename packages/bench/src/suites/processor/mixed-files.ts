/** Folders of files as people have them, determined by a seed. */
import { deflateRawSync } from "node:zlib";
import { noise } from "../../harness/content.ts";
import { type Random, seededRandom } from "../../statistics/random.ts";

export const KINDS = ["text", "json", "image"] as const;

export interface MixedFile {
  readonly name: string;
  readonly kind: (typeof KINDS)[number] | "office" | "code" | "photo";
  readonly content: Uint8Array<ArrayBuffer>;
}

interface Mix {
  /** The kinds of the files, repeated. */
  readonly kinds: readonly MixedFile["kind"][];
  readonly count: number;
  /** About as many bytes as all files have. */
  readonly total: number;
  /** How much the lengths differ: the standard deviation of their logarithms. */
  readonly spread: number;
}

/** Mixes of one sort of use each. */
export const MIXES: Readonly<Record<string, Mix>> = {
  documents: { kinds: ["text", "office"], count: 60, total: 6e6, spread: 1.2 },
  code: { kinds: ["code"], count: 400, total: 2.4e6, spread: 1.1 },
  photos: { kinds: ["photo"], count: 8, total: 16e6, spread: 0.4 },
};

/**
 * A typical folder of files: many short and a few long files (log-normal), compressible texts and JSON,
 * and incompressible images.
 *
 * @param total the exact sum of all lengths in bytes; at least one per file
 */
export function mixedFiles(count: number, total: number, seed: number): MixedFile[] {
  const [text, json, image] = KINDS;
  const kinds = [text, json, image, text, json, text, json, image, text, image];
  return filesOf({ kinds, count, total, spread: 1.4 }, seed);
}

/** Office files only come close to their share of the total, because their parts are compressed. */
export function filesOf({ kinds, count, total, spread }: Mix, seed: number): MixedFile[] {
  const random = seededRandom(seed);
  return lengths(count, total, spread, random).map((length, i) => {
    const kind = kinds[i % kinds.length]!;
    return { name: `${i}.${kind}`, kind, content: makers[kind](length, random) };
  });
}

function lengths(count: number, total: number, spread: number, random: Random): number[] {
  const weights = Array.from({ length: count }, () => Math.exp(spread * normal(random)));
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

type Make = (length: number, random: Random) => Uint8Array<ArrayBuffer>;

const makers: Readonly<Record<MixedFile["kind"], Make>> = {
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
  photo(length, random) {
    const bytes = noise(length, random);
    // A JPEG begins with a block of properties, in which most bytes are zero.
    const start = Buffer.alloc(512);
    start.write("\xff\xd8\xff\xe1\x01\xfeExif\0\0II*\0\x08\0\0\0Example Camera\0f/2.8\0", "latin1");
    bytes.set(start.subarray(0, length));
    return bytes;
  },
  code: (length, random) => filled(length, () => line(random)),
  // Like a ZIP archive: half of it pictures, the rest XML, compressed to about a third.
  office(length, random) {
    const text = filled(1.4 * length, () => `<w:p><w:t>${phrase(random)}</w:t></w:p>`);
    const header = Buffer.from("PK\x03\x04\x14\0\0\0\x08\0word/document.xml");
    const pictures = noise(Math.ceil(length / 2), random);
    return new Uint8Array(Buffer.concat([header, deflateRawSync(text), pictures]));
  },
};

const WORDS =
  "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were her all she there would their we him been has when who will more no if out so said what up its about into than them can only other new some could time these two may then do first any my now such like our over man me even most made after also did many before must through".split(
    " ",
  );

/** The square makes the first, frequent words more likely. */
function word(random: Random): string {
  return WORDS[Math.floor(random() ** 2 * WORDS.length)]!;
}

function phrase(random: Random): string {
  return Array.from({ length: 12 }, () => word(random)).join(" ");
}

function line(random: Random): string {
  const [one, two, three] = [word(random), word(random), word(random)];
  const name = `${one}${two.charAt(0).toUpperCase()}${two.slice(1)}`;
  const lines = [
    `const ${name} = ${one}.${three}(${two}, ${Math.floor(random() * 100)});`,
    `if (${name} === undefined) throw new Error("${phrase(random)}");`,
    `return ${three}(${name}.${one});`,
    `// ${phrase(random)}.`,
    `export function ${name}(${three}: string, ${two}: number): boolean {`,
    "}",
    "",
  ];
  const indent = "  ".repeat(Math.floor(random() * 4));
  return `${indent}${lines[Math.floor(random() * lines.length)]!}\n`;
}

function filled(length: number, next: (index: number) => string): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  for (let size = 0, i = 0; size < length; i++) {
    const line = next(i);
    lines.push(line);
    size += line.length;
  }
  return new TextEncoder().encode(lines.join("")).subarray(0, length);
}
