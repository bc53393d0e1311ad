/** Parts of bytes to replace, added in ascending order. */
export interface Edits {
  /** Takes back those from an offset on. */
  removeFrom(offset: number): void;
  add(start: number, end: number, text: string): void;
  /** The bytes with all edits; the bytes themselves if there is none. */
  applied(): Uint8Array;
}

export function createEdits(bytes: Uint8Array): Edits {
  const edits: { start: number; end: number; text: string }[] = [];
  return {
    removeFrom(offset) {
      while (edits.length > 0 && edits.at(-1)!.start >= offset) edits.pop();
    },
    add: (start, end, text) => edits.push({ start, end, text }),
    applied() {
      if (edits.length === 0) return bytes;
      const parts: Uint8Array[] = [];
      let done = 0;
      for (const { start, end, text } of edits) {
        parts.push(bytes.subarray(done, start), Buffer.from(text));
        done = end;
      }
      parts.push(bytes.subarray(done));
      return Buffer.concat(parts);
    },
  };
}
