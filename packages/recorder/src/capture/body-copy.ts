import type { Budget } from "../queue/budget.ts";

/** Copies the beginning of a body as it passes, within the limit for bodies and the budget. */
export class BodyCopy {
  /** Bytes that passed. */
  size = 0;
  /** Its end has passed. */
  ended = false;
  /** Bytes copied. */
  held = 0;
  chunks: Uint8Array[] = [];
  /** Nothing is kept because too many bytes were queued. */
  overBudget = false;
  /** It passes where it cannot be seen. */
  unseen = false;
  readonly limit: number;
  readonly #budget: Budget;

  constructor(limit: number, budget: Budget) {
    this.limit = limit;
    this.#budget = budget;
  }

  /** @param chunk borrowed for the call */
  addBytes(chunk: Uint8Array): void {
    const length = this.#pass(chunk.length);
    if (length > 0) this.chunks.push(Buffer.from(chunk.subarray(0, length)));
  }

  addText(text: string, encoding: BufferEncoding = "utf8"): void {
    const size = Buffer.byteLength(text, encoding);
    const length = this.#pass(size);
    if (length === 0) return;
    // Each character of UTF-8 is a byte or more, so the rest need not be encoded.
    const head = isUtf8(encoding) && text.length > length ? text.slice(0, length) : text;
    this.chunks.push(Buffer.from(head, encoding).subarray(0, length));
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

  release(): void {
    this.#budget.release(this.held);
    this.held = 0;
    this.chunks = [];
  }

  /** Counts bytes that pass, and takes those that are to be copied. */
  #pass(size: number): number {
    this.size += size;
    const length = Math.min(size, this.limit - this.held);
    if (length === 0 || this.overBudget) return 0;
    if (!this.#budget.takeForBody(length)) {
      this.release();
      this.overBudget = true;
      return 0;
    }
    this.held += length;
    return length;
  }
}

function isUtf8(encoding: string): boolean {
  return encoding === "utf8" || encoding === "utf-8";
}
