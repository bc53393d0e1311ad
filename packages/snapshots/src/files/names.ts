/**
 * The names in one folder, one after the other in a single buffer: a million of 20 bytes take 28 MB and
 * no objects. A list is filled, sorted once and read.
 */
export class NameList {
  #bytes = new Uint8Array(4096);
  /** Where each name begins; one more at the end. */
  #starts = new Uint32Array(256);
  #order: Uint32Array | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds the bytes from `start` to `end` as a name. */
  add(source: Uint8Array, start: number, end: number): void {
    const from = this.#starts[this.#length]!;
    const to = from + end - start;
    if (to > this.#bytes.length) this.#bytes = grown(this.#bytes, Uint8Array, to);
    if (this.#length + 2 > this.#starts.length) {
      this.#starts = grown(this.#starts, Uint32Array, this.#length + 2);
    }
    const bytes = this.#bytes;
    // Names are short: a loop takes less time than a view for each.
    for (let at = start, into = from; at < end; at += 1, into += 1) bytes[into] = source[at]!;
    this.#length += 1;
    this.#starts[this.#length] = to;
  }

  /** A name in the present order, as a view that stays valid. */
  name(index: number): Uint8Array {
    const at = this.#order === undefined ? index : this.#order[index]!;
    return this.#bytes.subarray(this.#starts[at], this.#starts[at + 1]);
  }

  /** Sorts by bytes. */
  sort(): void {
    const order = new Uint32Array(this.#length);
    for (let at = 0; at < order.length; at += 1) order[at] = at;
    sortByBytes(order, this.#bytes, this.#starts);
    this.#order = order;
  }
}

function grown<T extends Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>(
  old: T,
  Type: new (length: number) => T,
  least: number,
): T {
  const next = new Type(Math.max(least, Math.ceil(old.length * 1.5)));
  next.set(old);
  return next;
}

/**
 * Multikey quicksort (Bentley and Sedgewick, 1997): looks at each byte of a common prefix once, where a
 * sort by comparison would look at it log n times.
 */
function sortByBytes(order: Uint32Array, bytes: Uint8Array, starts: Uint32Array): void {
  const byteAt = (item: number, depth: number): number => {
    const at = starts[item]! + depth;
    return at < starts[item + 1]! ? bytes[at]! : -1;
  };
  // [low, high, depth] of what is left to sort, so that no input makes the stack of calls deep.
  const left: number[] = [0, order.length, 0];
  while (left.length > 0) {
    const depth = left.pop()!;
    const high = left.pop()!;
    const low = left.pop()!;
    if (high - low < 2) continue;
    const pivot = medianOfThree(
      byteAt(order[low]!, depth),
      byteAt(order[(low + high) >>> 1]!, depth),
      byteAt(order[high - 1]!, depth),
    );
    let [less, greater, at] = [low, high, low];
    while (at < greater) {
      const item = order[at]!;
      const byte = byteAt(item, depth);
      if (byte < pivot) {
        order[at] = order[less]!;
        order[less] = item;
        less += 1;
        at += 1;
      } else if (byte > pivot) {
        greater -= 1;
        order[at] = order[greater]!;
        order[greater] = item;
      } else {
        at += 1;
      }
    }
    left.push(low, less, depth, greater, high, depth);
    if (pivot !== -1) left.push(less, greater, depth + 1);
  }
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
