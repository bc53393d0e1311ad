/**
 * Compiles a pattern, in which `*` is any text, also none. The matcher tells whether a whole text
 * matches, in time proportional to the product of the lengths at most.
 */
export function patternMatcher(pattern: string): (text: string) => boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (text.length < first.length + last.length) return false;
    if (!text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
