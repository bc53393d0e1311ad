const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    amp: "&",
  }),
);

/** Decodes the five predefined entities and character references; leaves anything else alone. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    /&(?:(lt|gt|quot|apos|amp)|#(\d{1,7})|#x([0-9a-f]{1,6}));/giu,
    (entity, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES.get(name) ?? entity;
      const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return point <= 0x10ffff ? String.fromCodePoint(point) : entity;
    },
  );
}
