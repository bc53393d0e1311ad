const UNITS = [
  [2 ** 30, "GiB"],
  [1e9, "GB"],
  [2 ** 20, "MiB"],
  [1e6, "MB"],
  [2 ** 10, "KiB"],
  [1e3, "KB"],
] as const;

/**
 * A size in the largest unit that it is a whole number of: 10 MB, 64 KiB, 777 bytes. Exact, because
 * names have to differ where sizes do.
 */
export function sizeName(bytes: number): string {
  const found = UNITS.find(([unit]) => bytes >= unit && bytes % unit === 0);
  return found ? `${bytes / found[0]} ${found[1]}` : `${bytes} bytes`;
}
