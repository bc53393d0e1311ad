import type { Budget } from "../queue/budget.ts";

/** Copies the beginning of a body as it passes, within the limit for bodies and the budget. */
export class BodyCopy {
  /** Bytes that passed. */
  size = 0;
  /** Its end has passed. */
  ended = false;
  /** Bytes copied. */
  held = 0;
  /** Nothing is kept because too many bytes were queued. */
  overBudget = false;
  /** It passes where it cannot be seen. */
  unseen = false;
  readonly limit: number;
  readonly #budget: Budget;
  /**
   * The bytes copied, with room after them. One buffer, all of which is taken from the budget: chunks
   * by themselves would occupy much more memory than their bytes.
   */
  #buffer: Buffer = EMPTY;
  /** Nobody gives back what would be taken now. */
  #released = false;

  constructor(limit: number, budget: Budget) {
    this.limit = limit;
    this.#budget = budget;
  }

  /** The bytes copied, as long as they are not released. */
  get bytes(): Buffer {
    return this.held === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.held);
  }

  /** @param chunk borrowed for the call */
  addBytes(chunk: Uint8Array): void {
    const length = this.#pass(chunk.length);
    if (length === 0) return;
    this.#buffer.set(length === chunk.length ? chunk : chunk.subarray(0, length), this.held);
    this.held += length;
  }

  addText(text: string, encoding: BufferEncoding = "utf8"): void {
    const size = Buffer.byteLength(text, encoding);
    const length = this.#pass(size);
    if (length === 0) return;
    if (length === size) {
      this.held += this.#buffer.write(text, this.held, length, encoding);
      return;
    }
    // Each character of UTF-8 is a byte or more, so the rest need not be encoded.
    const head = isUtf8(encoding) && text.length > length ? text.slice(0, length) : text;
    this.held += Buffer.from(head, encoding).copy(this.#buffer, this.held, 0, length);
  }

  /** A chunk as `write` and `end` of Node's streams take it; anything else does not pass. */
  add(chunk: unknown, encoding: unknown): void {
    if (typeof chunk === "string") {
      const known = typeof encoding === "string" && Buffer.isEncoding(encoding);
      this.addText(chunk, known ? encoding : "utf8");
    } else if (chunk instanceof Uint8Array) {
      this.addBytes(chunk);
    }
  }

  /** Counts bytes that pass and are not copied. */
  skip(bytes: number): void {
    this.size += bytes;
  }

  /** More passed, or was to pass, than was copied. */
  get cut(): boolean {
    return !this.ended || this.held < this.size;
  }

  /** Gives back what it holds. What passes afterwards is counted, and not copied. */
  release(): void {
    this.#released = true;
    this.#empty();
  }

  #empty(): void {
    this.#budget.release(this.#buffer.length);
    this.#buffer = EMPTY;
    this.held = 0;
  }

  /** Counts bytes that pass, and makes room for those that are to be copied: returns how many. */
  #pass(size: number): number {
    this.size += size;
    const length = Math.min(size, this.limit - this.held);
    if (length === 0 || this.overBudget || this.#released) return 0;
    const needed = this.held + length;
    const room = this.#buffer.length;
    if (needed <= room) return length;
    // A body in one chunk takes what it has; others twice as much each time, to be copied seldom.
    const grown = Math.min(Math.max(needed, 2 * room), this.limit);
    if (!this.#budget.takeForBody(grown - room)) {
      this.#empty();
      this.overBudget = true;
      return 0;
    }
    // Not from the pool of small buffers, of which a few bytes would keep all.
    const buffer = Buffer.allocUnsafeSlow(grown);
    if (this.held > 0) buffer.set(this.#buffer.subarray(0, this.held));
    this.#buffer = buffer;
    return length;
  }
}

const EMPTY = Buffer.alloc(0);

function isUtf8(encoding: string): boolean {
  return encoding === "utf8" || encoding === "utf-8";
}
