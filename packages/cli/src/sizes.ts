const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  K: 2 ** 10,
  KIB: 2 ** 10,
  M: 2 ** 20,
  MIB: 2 ** 20,
};

const CHUNK_SIZE_MIN = 2 ** 18;
const CHUNK_SIZE_MAX = 2 ** 24;

/** Reads `4M`, `512KiB` or a number of bytes. KB and MB are refused: people disagree on them. */
export function parseChunkSize(text: string): number {
  const parts = /^(\d{1,9})(K|KiB|M|MiB)?$/iu.exec(text);
  const size = parts ? Number(parts[1]) * (UNITS[(parts[2] ?? "").toUpperCase()] ?? Number.NaN) : 0;
  if (size < CHUNK_SIZE_MIN || size > CHUNK_SIZE_MAX || !Number.isInteger(Math.log2(size))) {
    throw new Error("must be a power of two from 256K to 16M, such as 4M");
  }
  return size;
}

export interface Range {
  readonly start?: number;
  /** Exclusive. */
  readonly end?: number;
}

/** Reads `START-END`: START inclusive, END exclusive, either of them may be left out. */
export function parseRange(text: string): Range {
  const parts = /^(\d*)-(\d*)$/u.exec(text);
  const [start, end] = [parts?.[1] ?? "", parts?.[2] ?? ""];
  if (start === "" && end === "") {
    throw new Error("must be START-END in bytes, END not included, such as 0-100, 100- or -100");
  }
  const range: Range = {
    ...(start === "" ? {} : { start: Number(start) }),
    ...(end === "" ? {} : { end: Number(end) }),
  };
  if (!Number.isSafeInteger(range.start ?? 0) || !Number.isSafeInteger(range.end ?? 0)) {
    throw new Error("is out of bounds");
  }
  if (range.end !== undefined && (range.start ?? 0) > range.end) {
    throw new Error("ends before it starts");
  }
  return range;
}

const NAMES = ["KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `20 MiB`, `1.4 GiB`: rounded to what people look at. */
export function roundBytes(bytes: number): string {
  let rounded = bytes;
  let name = "bytes";
  for (const next of NAMES) {
    // What would round up to 1024 is one of the next.
    if (rounded < 1023.5) break;
    rounded /= 1024;
    name = next;
  }
  const digits = name === "bytes" || rounded >= 99.95 ? 0 : 1;
  return `${rounded.toFixed(digits)} ${name}`;
}

/** `20971520 bytes (20 MiB)`: exact for programs, rounded for people. */
export function formatBytes(bytes: number): string {
  const exact = `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  let rounded = bytes;
  let name = "";
  for (const next of NAMES) {
    if (rounded < 1024) break;
    rounded /= 1024;
    name = next;
  }
  if (name === "") return exact;
  return `${exact} (${Number.isInteger(rounded) ? rounded : rounded.toFixed(1)} ${name})`;
}
