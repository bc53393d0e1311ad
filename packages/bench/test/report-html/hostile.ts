/** Breaks out of any context in a page that does not escape it. */
const HOSTILE = `</title></style></svg>"'><script>document.title="ran"</script><img src="x" onerror="document.title='ran'"><a href="javascript:0">&amp;`;

/** Keys whose texts the schema restricts. */
const FIXED = new Set([
  "schema",
  "createdAt",
  "status",
  "unit",
  "nacl",
  "verdict",
  "kind",
  "level",
]);

/** Appends `HOSTILE` to every text of a report. */
export function hostile<T>(value: T): T {
  return poisoned(value) as T;
}

function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return FIXED.has(key) ? value : `${value}${HOSTILE}`;
  if (Array.isArray(value)) return value.map((item) => poisoned(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, poisoned(item, key)]));
}
