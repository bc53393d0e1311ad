import type { Work } from "../contract.ts";

/** What takes the place of a part, or work that finds it; undefined leaves the part as it is. */
export type Replacement = string | (() => Work<string | undefined>);

/** Parts of bytes to replace, added in ascending order. */
export interface Edits {
  isEmpty(): boolean;
  /** Takes back those from an offset on. */
  removeFrom(offset: number): void;
  add(start: number, end: number, by: Replacement): void;
  /** The bytes with all edits; the bytes themselves if there is none. */
  applied(): Work<Uint8Array>;
}

/** Edits of a step: about 0.1 ms. */
const STEP = 32;

export function createEdits(bytes: Uint8Array): Edits {
  const edits: { start: number; end: number; by: Replacement }[] = [];
  return {
    isEmpty: () => edits.length === 0,
    removeFrom(offset) {
      while (edits.length > 0 && edits.at(-1)!.start >= offset) edits.pop();
    },
    add: (start, end, by) => edits.push({ start, end, by }),
    *applied() {
      const parts: Uint8Array[] = [];
      let done = 0;
      for (const [index, { start, end, by }] of edits.entries()) {
        if (index % STEP === STEP - 1) yield;
        const text = typeof by === "string" ? by : yield* by();
        if (text === undefined) continue;
        parts.push(bytes.subarray(done, start), Buffer.from(text));
        done = end;
      }
      if (parts.length === 0) return bytes;
      parts.push(bytes.subarray(done));
      return Buffer.concat(parts);
    },
  };
}
