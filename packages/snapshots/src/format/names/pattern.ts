/**
 * Whether a pattern matches a whole name. `*` stands for any text, also none; every other character
 * stands for itself. Takes time in proportion to the product of the lengths at most, whatever the
 * pattern: it never tries a shorter match again.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    // The leftmost place leaves the most for the parts after it.
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - from >= last.length && name.endsWith(last);
}
