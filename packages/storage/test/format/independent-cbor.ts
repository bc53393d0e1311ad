/** Deterministic CBOR, written directly from RFC 8949, sections 3 and 4.2.1; shares no code with src. */
export type Item = number | string | Uint8Array | Map<string, Item>;

/** As an item, with what only CBOR-T has. */
export type ItemT = null | number | string | Uint8Array | ItemT[] | Map<string, ItemT>;

export function independentCbor(item: ItemT): Buffer {
  if (item === null) return Buffer.of(0xf6);
  if (typeof item === "number") return item < 0 ? head(1, -item - 1) : head(0, item);
  if (Array.isArray(item)) {
    return Buffer.concat([head(4, item.length), ...item.map(independentCbor)]);
  }
  if (typeof item === "string")
    return Buffer.concat([head(3, Buffer.byteLength(item)), Buffer.from(item)]);
  if (item instanceof Uint8Array) return Buffer.concat([head(2, item.length), item]);
  const entries = Array.from(
    item,
    ([key, value]) => [independentCbor(key), independentCbor(value)] as const,
  );
  entries.sort(([a], [b]) => Buffer.compare(a, b));
  return Buffer.concat([head(5, entries.length), ...entries.flat()]);
}

/** The shortest head of a major type: argument in the first byte, or 1, 2, 4 or 8 bytes after it. */
export function head(major: number, argument: number): Buffer {
  const width = [24, 2 ** 8, 2 ** 16, 2 ** 32].findIndex((limit) => argument < limit);
  if (width === 0) return Buffer.of((major << 5) | argument);
  return longHead(major, BigInt(argument), width === -1 ? 8 : 2 ** (width - 1));
}

/** A head with its argument in 1, 2, 4 or 8 bytes, whether or not that is the shortest. */
export function longHead(major: number, argument: bigint, width: number): Buffer {
  const digits = argument.toString(16).padStart(2 * width, "0");
  return Buffer.concat([
    Buffer.of((major << 5) | (24 + Math.log2(width))),
    Buffer.from(digits, "hex"),
  ]);
}
